/** Text that is markup already. Only the tag `html` makes it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Markup with values in it. Every value is escaped, for text and for quoted attributes, unless it is markup itself;
 * lists are put one after another, and `undefined` and `false` leave nothing.
 */
export const html = (markup: TemplateStringsArray, ...values: unknown[]): Html =>
  new Html(String.raw({ raw: markup }, ...values.map(written)))

function written(value: unknown): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(written).join('')
  if (value === undefined || value === false) return ''
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
