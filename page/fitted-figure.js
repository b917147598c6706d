/**
 * A figure whose units are CSS pixels at any width, so that its words are as large as the
 * page's on a phone too; it is drawn again when its width changes.
 */
export class FittedFigure {
  #figure;
  #draw;
  #width = 0;

  /**
   * @param {SVGSVGElement} figure
   * @param {(width: number) => {height: number, parts: SVGElement[]}} draw what to show at this
   * width, in CSS pixels
   */
  constructor(figure, draw) {
    this.#figure = figure;
    this.#draw = draw;
    new ResizeObserver(() => {
      if (figure.clientWidth !== this.#width) this.redraw();
    }).observe(figure);
  }

  /** Draws the figure as the data is now. */
  redraw() {
    this.#width = this.#figure.clientWidth;
    if (this.#width === 0) return;
    const { height, parts } = this.#draw(this.#width);
    this.#figure.setAttribute("viewBox", `0 0 ${this.#width} ${height}`);
    this.#figure.replaceChildren(...parts);
  }
}
