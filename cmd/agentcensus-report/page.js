'use strict';
// Copying needs a script; without one the button stays away and the text can be selected.
for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const code = button.parentElement.querySelector('code');
    let done = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      done = false;
      getSelection().selectAllChildren(code);
    }
    const said = done ? 'Copied' : 'Selected: copy with your keyboard';
    button.textContent = said;
    document.getElementById('said').textContent = said;
    setTimeout(() => { button.textContent = 'Copy SQL'; }, 2000);
  });
}
