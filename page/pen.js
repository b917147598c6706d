/**
 * Paints rectangles on a canvas in the page's own colours and in units that do not depend on the
 * screen's density. When the colours change (theme) or the density does, it asks for everything
 * to be painted again.
 */
export class Pen {
  #context;
  #canvas;
  #width;
  #height;
  /** @type {Map<string, string>} */
  #colours = new Map();

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} width in units of the drawing
   * @param {number} height
   * @param {() => void} repaint paints everything
   */
  constructor(canvas, width, height, repaint) {
    this.#canvas = canvas;
    this.#width = width;
    this.#height = height;
    this.#context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const fit = () => {
      this.#fit();
      repaint();
    };
    this.#fit();
    new ResizeObserver(fit).observe(canvas);
    new MutationObserver(fit).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fit);
  }

  #fit() {
    const { clientWidth, clientHeight } = this.#canvas;
    // Whole pixels for each unit: half a pixel that was painted is never quite cleared again.
    const across = Math.max(1, Math.ceil((clientWidth * devicePixelRatio) / this.#width));
    const down = Math.max(1, Math.ceil((clientHeight * devicePixelRatio) / this.#height));
    this.#canvas.width = this.#width * across;
    this.#canvas.height = this.#height * down;
    this.#context.scale(across, down);
    this.#colours.clear();
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  clear(x, y, width, height) {
    this.#context.clearRect(x, y, width, height);
  }

  /**
   * @param {string} token the custom property that holds the colour
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fill(token, x, y, width, height) {
    this.#context.fillStyle = this.#colour(token);
    this.#context.fillRect(x, y, width, height);
  }

  /**
   * Paints around a point, turned.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} angle radians, clockwise
   * @param {(pen: Pen) => void} paint
   */
  turned(x, y, angle, paint) {
    this.#context.save();
    this.#context.translate(x, y);
    this.#context.rotate(angle);
    paint(this);
    this.#context.restore();
  }

  /** @param {string} token */
  #colour(token) {
    let colour = this.#colours.get(token);
    if (colour === undefined) {
      // As a colour and not as the property's text, which may itself depend on the theme.
      this.#canvas.style.color = `var(${token})`;
      colour = getComputedStyle(this.#canvas).color;
      this.#colours.set(token, colour);
    }
    return colour;
  }
}
