/**
 * URI templates: expansion, and matching as its exact reverse.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
import parseTemplate from 'uri-templates'

/** The variables of a template: lists where it explodes them, optional where it is a query. */
export type TemplateVariables<T extends string> = Flat<Variables<T>>

type Flat<V> = { [K in keyof V]: V[K] } & {}
type Variables<T extends string> = T extends `${string}{${infer Expression}}${infer Rest}`
  ? FromExpression<Expression> & Variables<Rest>
  : unknown
type FromExpression<E extends string> = E extends `${'?' | '&' | ';'}${infer Names}`
  ? Partial<FromNames<Names>>
  : E extends `${'+' | '#' | '/' | '.'}${infer Names}`
    ? FromNames<Names>
    : FromNames<E>
type FromNames<N extends string> = N extends `${infer First},${infer More}`
  ? FromName<First> & FromNames<More>
  : FromName<N>
type FromName<N extends string> = N extends `${infer Name}*`
  ? { [K in Name]: string[] }
  : N extends `${infer Name}:${number}`
    ? { [K in Name]: string }
    : { [K in N]: string }

export interface UriTemplate {
  readonly text: string
  readonly names: readonly string[]
  expand(variables: Record<string, string | string[] | undefined>): string
  /** The variables that expand to exactly this URI, if there are any. */
  match(uri: string): Record<string, string | string[]> | undefined
}

/** @throws Error when the text is not a URI template */
export function uriTemplate(text: string): UriTemplate {
  const expressions = text.match(/\{[^{}]*\}/g) ?? []
  if (/[{}]/.test(text.replace(/\{[^{}]*\}/g, '')) || expressions.some((expression) => !isExpression(expression))) {
    throw new Error(`The URI template "${text}" is not valid: write variables as {name}`)
  }
  const template = parseTemplate(text)
  const expand = (variables: Record<string, string | string[] | undefined>) =>
    template.fill(variables as Record<string, string>)
  return {
    text,
    names: template.varNames,
    expand,
    match(uri) {
      try {
        const wanted = normal(uri)
        const found = template.fromUri(wanted) as Record<string, string | string[]> | undefined
        // The library is generous: {id} would take "4/2". Only what expands to the same URI again is a match.
        return found && normal(expand(found)) === wanted ? found : undefined
      } catch {
        return undefined
      }
    },
  }
}

const isExpression = (expression: string) =>
  /^\{[+#./;?&]?[A-Za-z0-9_%.]+(?:\*|:[1-9]\d{0,3})?(?:,[A-Za-z0-9_%.]+(?:\*|:[1-9]\d{0,3})?)*\}$/.test(expression)

/** Other spellings of the same URI: what is not ASCII encoded, what need not be encoded plain, hex digits in capitals. */
const normal = (uri: string) =>
  uri
    .replace(/[^\x21-\x7e]+/g, (characters) => encodeURIComponent(characters))
    .replace(/%[0-9a-fA-F]{2}/g, (encoded) => {
      const plain = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
      return /[A-Za-z0-9\-._~]/.test(plain) ? plain : encoded.toUpperCase()
    })
