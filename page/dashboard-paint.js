// Runs before the first paint of a dashboard's page and blocks it, so it stays this small.
{
  const root = document.documentElement;
  root.classList.replace("no-js", "js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be refused (privacy settings); the system's theme is then the answer.
  }
}
