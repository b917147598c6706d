// Runs before the first paint and blocks it, so it stays this small: without it a page whose
// theme or language was chosen by hand would flash in the other one.
{
  const root = document.documentElement;
  root.classList.replace("no-js", "js");
  try {
    // Who chose English before comes to the German address only by habit.
    if (root.lang === "de" && localStorage.getItem("language") === "en") {
      location.replace(`en/${location.hash}`);
    }
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be refused (privacy settings); the system's theme is then the answer.
  }
}
