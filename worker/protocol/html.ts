/** Markup. Only the tag `html` creates it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Creates markup with values in it. Escapes every value for text and quoted attributes, unless the value is markup. Concatenates lists;
 * `undefined` and `false` become empty texts.
 */
export const html = (markup: TemplateStringsArray, ...values: unknown[]): Html =>
  new Html(String.raw({ raw: markup }, ...values.map(written)))

function written(value: unknown): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(written).join('')
  if (value === undefined || value === false) return ''
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
