/**
 * URI templates: expansion, and matching as its exact reverse.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
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

type Values = Readonly<Record<string, string | readonly string[] | undefined>>

export interface UriTemplate {
  readonly text: string
  readonly names: readonly string[]
  expand(variables: Values): string
  /** The variables that expand to this URI, if there are any; its query may have another order. Takes linear time. */
  match(uri: string): Record<string, string | string[]> | undefined
}

type Variable = { name: string; isList: boolean; length: number | undefined }

/** One of `{…}`: what goes before it, and between its variables. */
type Expression = { first: string; separator: string; isNamed: boolean; isReserved: boolean; variables: Variable[] }

/** What a match looks for: a text, and what may run on after it. */
type Part = {
  lead: string
  /** A character that may run on. */
  run?: RegExp
  isOptional?: boolean
  /** Takes what ran on; nothing when the part is missing. */
  take?: (found: string | undefined, values: Map<string, string | string[]>) => void
}

const name = '(?:\\w|%[\\da-fA-F]{2})+'
const variable = `${name}(?:\\.${name})*(?:\\*|:[1-9]\\d{0,3})?`
const expression = new RegExp(`^([+#./;?&]?)(${variable}(?:,${variable})*)$`)

/** @throws Error when the text is not a URI template */
export function uriTemplate(text: string): UriTemplate {
  // Texts and expressions take turns.
  const pieces = text.split(/\{([^{}]*)\}/).map((piece, index) => (index % 2 === 0 ? readText(piece) : read(piece)))
  const parts = pieces.flatMap((piece) => (typeof piece === 'string' ? { lead: piece } : partsOf(piece)))
  const names = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : piece.variables.map(({ name }) => name)))
  const expand = (values: Values) =>
    pieces.map((piece) => (typeof piece === 'string' ? piece : write(piece, values))).join('')
  return {
    text,
    names: [...new Set(names)],
    expand,
    match(uri) {
      try {
        const wanted = normal(uri)
        const found = find(parts, wanted)
        // The parts are generous. Only what expands to the same URI is a match.
        return found && unordered(normal(expand(found))) === unordered(wanted) ? found : undefined
      } catch {
        // It has a percent sign that encodes nothing.
        return undefined
      }
    },
  }

  function readText(piece: string): string {
    if (/[{}]/.test(piece)) throw invalid()
    return normal(piece)
  }

  function read(piece: string): Expression {
    const [, sign = '', list] = expression.exec(piece) ?? []
    if (!list) throw invalid()
    return {
      first: sign === '+' ? '' : sign,
      separator: sign === '?' ? '&' : /[./;&]/.test(sign) ? sign : ',',
      isNamed: /[;?&]/.test(sign),
      isReserved: /[+#]/.test(sign),
      variables: list.split(',').map((entry) => {
        const [name = '', length] = entry.split(/[*:]/)
        return { name, isList: length === '', length: length ? Number(length) : undefined }
      }),
    }
  }

  function invalid(): Error {
    return new Error(`The URI template "${text}" is not valid: write variables as {name}`)
  }
}

function write({ first, separator, isNamed, isReserved, variables }: Expression, values: Values): string {
  const encode = isReserved ? encodeReserved : encodeAll
  const written = variables.flatMap(({ name, isList, length }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return []
    const texts = typeof value === 'string' ? [encode([...value].slice(0, length).join(''))] : value.map(encode)
    const joined = isList || texts.length === 0 ? texts : [texts.join(',')]
    return isNamed ? joined.map((text) => (text || first !== ';' ? `${name}=${text}` : name)) : joined
  })
  return written.length > 0 ? first + written.join(separator) : ''
}

const encodeAll = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/** Leaves what has a meaning in a URI, and what is encoded already. */
const encodeReserved = (value: string) =>
  encodeURI(value).replace(/%(?:5B|5D|25(?=[\da-fA-F]{2}))/g, (encoded) => decodeURIComponent(encoded))

/** The reverse, as far as that loses nothing: `%2F` and its like stay. */
const decodeReserved = (text: string) => decodeURI(text.replace(/%(?=2[15789A]|5[BD])/g, '%25'))

/** Other spellings of the same URI: encoded what has to be, plain what need not be, hex digits in capitals. */
const normal = (uri: string) =>
  uri
    .replace(/[^!#-;=?-[\]_a-z~]+/g, (characters) => encodeURIComponent(characters))
    .replace(/%[\da-fA-F]{2}/g, (encoded) => {
      const plain = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
      return /[\w.~-]/.test(plain) ? plain : encoded.toUpperCase()
    })

const unordered = (uri: string) => uri.split(/[?&;]/).sort().join('&')

/** One part for each variable, or for all that have their names with them, which may come in any order. */
function partsOf({ first, separator, isNamed, isReserved, variables }: Expression): Part[] {
  const runOf = (more: string) => (isReserved ? /./ : new RegExp(`[\\w.~%${more}-]`))
  const decode = isReserved ? decodeReserved : decodeURIComponent
  if (!isNamed) {
    return variables.map(({ name, isList, length }, index) => {
      const lead = index === 0 ? first : separator
      return {
        lead,
        run: runOf(isList ? separator : ''),
        isOptional: isList && lead !== '',
        take(found, values) {
          if (isList) values.set(name, found === undefined ? [] : found.split(separator).map(decode))
          // A shortened value knows less than a full one.
          else if (!length || !values.has(name)) values.set(name, decode(found ?? ''))
        },
      }
    })
  }
  const take: Part['take'] = (found, values) => {
    for (const pair of found?.split(separator) ?? []) {
      const [name = '', text = ''] = pair.split('=')
      const isList = variables.find((variable) => variable.name === name)?.isList
      const value = decode(text)
      const list = values.get(name)
      if (isList && Array.isArray(list)) list.push(value)
      else if (isList !== undefined) values.set(name, isList ? [value] : value)
    }
  }
  return [{ lead: first, run: runOf(`=${separator}`), isOptional: true, take }]
}

/** Each part takes as much as it can, if those after it still find their own. */
function find(parts: readonly Part[], uri: string): Record<string, string | string[]> | undefined {
  const end = uri.length
  const places = (isTrue = (_: number) => false) => Array.from({ length: end + 1 }, (_, at) => isTrue(at))
  // From the back: the places from which a part fits, with all that come after it.
  const fits = [places((at) => at === end)]
  for (const { lead, run, isOptional } of parts.toReversed()) {
    const [next = []] = fits
    const here = places()
    const running = places()
    for (let at = end; at >= 0; at--) {
      const isWithinEncoded = uri[at - 1] === '%' || uri[at - 2] === '%'
      running[at] = next[at] || (run?.test(uri.charAt(at)) && running[at + 1]) || false
      here[at] =
        !isWithinEncoded &&
        ((isOptional && next[at]) || (uri.startsWith(lead, at) && running[at + lead.length]) || false)
    }
    fits.unshift(here)
  }
  if (!fits[0]?.[0]) return undefined
  const values = new Map<string, string | string[]>()
  let at = 0
  for (const [index, { lead, run, take }] of parts.entries()) {
    const start = at + lead.length
    let last = -1
    if (uri.startsWith(lead, at)) {
      for (let to = start; to <= end; to++) {
        if (fits[index + 1]?.[to]) last = to
        if (!run?.test(uri.charAt(to))) break
      }
    }
    take?.(last === -1 ? undefined : uri.slice(start, last), values)
    if (last !== -1) at = last
  }
  return Object.fromEntries(values)
}
