/** Ends a command with an error. Its message states what to do instead. */
export class CliError extends Error {}

/** Returns a text without codes for terminals, which names in files may contain: control characters are escaped, except for line breaks. */
export const printable = (text: string): string =>
  text.replace(/(?!\n)\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })

/** Returns a value as JSON that is safe to print. */
export const printableJson = (value: object): string => printable(JSON.stringify(value, null, 2))
