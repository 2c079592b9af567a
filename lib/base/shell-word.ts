/** A path, or another text, as one word of a command that is pasted into a shell. */
export const shellWord = (text: string) =>
  /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
