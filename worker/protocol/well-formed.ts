/** Keeps half of a character out of texts: no UTF-8 has it, and strict JSON parsers reject all of a message with its escape. */

const escapeOfHalf = /\\u[dD][89a-fA-F]/

/** Escaped backslashes, escapes of whole characters, and those of halves. The counts bound the memory that the expression takes. */
const escapes =
  /(?:\\\\){1,1000}|(?:\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}){1,1000}|(\\u[dD][89a-fA-F][\da-fA-F]{2})/g

/** Returns JSON with the replacement character for the escape of each lone surrogate, such as `\ud800`. It is as long as before. */
export const wellFormedJson = (json: string): string =>
  escapeOfHalf.test(json) ? json.replace(escapes, (found, half) => (half === undefined ? found : '\\ufffd')) : json

/** Returns the start of a text, without the first half of a character at its end. */
export const startOf = (text: string, mostCharacters: number): string =>
  text.slice(0, mostCharacters).replace(/[\ud800-\udbff]$/, '')
