/**
 * URI templates: expansion, and matching as its exact reverse.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
import * as bounds from './bounds.ts'
import { normalizePart, normalizeUri } from './uri.ts'

/** Computes the type of the variables of a template: lists for exploded variables, optional for those of a query. */
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
  /** The variables that each URI has. A list, and a variable of a query, can be absent. */
  readonly required: readonly string[]
  /**
   * Expands the template as RFC 6570 does: an absent variable becomes empty. @throws Error for a value that is neither text nor a list of
   * texts
   */
  expand(variables: Values): string
  /** Expands the template for one resource. @throws Error also for an absent variable that is required */
  uri(variables: Values): string
  /**
   * Returns the variables that expand to this URI, or `undefined`. Its query may have another order. Takes time and memory in proportion to
   * the length of the URI. A URI beyond `bounds.uriCharacters` matches nothing.
   */
  match(uri: string): Record<string, string | string[]> | undefined
}

/** A literal text of the template, or one of its expressions. */
type Piece = {
  names: readonly string[]
  required: readonly string[]
  parts: readonly Part[]
  write: (values: Values) => string
}

/** A part of a match: a literal text, and the values that may follow it. */
type Part = {
  lead: string
  run?: Run
  isOptional?: boolean
  /** Reads the values that followed; none if the part is missing. */
  take?: (found: string | undefined, values: Map<string, string | string[]>) => void
}

/** The values that may follow the text of a part: `all` finds each of them in a URI, `here` the one that starts at `lastIndex`. */
type Run = { all: RegExp; here: RegExp }

const name = '(?:\\w|%[\\da-fA-F]{2})+'
const variable = `${name}(?:\\.${name})*(?:\\*|:[1-9]\\d{0,3})?`
const valid = new RegExp(`^(?:[^{}]|\\{[+#./;?&]?${variable}(?:,${variable})*\\})*$`)

export const isUriTemplate = (text: string): boolean => valid.test(text)

/** @throws Error for an invalid template, in production too, because upstreams provide templates as well */
export function uriTemplate(text: string): UriTemplate {
  if (!isUriTemplate(text)) throw new Error(`Invalid URI template "${text}": write variables as {name}`)
  // Texts and expressions take turns.
  const pieces = text.split(/[{}]/).map((piece, index) => (index % 2 === 0 ? plainText(piece) : expression(piece)))
  const parts = pieces.flatMap((piece) => piece.parts)
  const required = pieces.flatMap((piece) => piece.required)
  const expand = (values: Values) => pieces.map((piece) => piece.write(values)).join('')
  return {
    text,
    names: [...new Set(pieces.flatMap((piece) => piece.names))],
    required,
    expand,
    uri(variables) {
      const absent = required.find((name) => variables?.[name] === undefined)
      if (absent === undefined) return expand(variables)
      throw new Error(`The URI template "${text}" needs the variable "${absent}": give it a string`)
    },
    match(uri) {
      if (uri.length > bounds.uriCharacters) return undefined
      try {
        const target = normalizeUri(uri)
        if (target.length > bounds.uriCharacters) return undefined
        if (!target.startsWith(pieces[0]?.write({}) ?? '')) return undefined
        const variables = find(parts, target)
        if (!variables) return undefined
        // The parts are generous. Only what expands to the same URI is a match.
        const again = normalizeUri(expand(variables))
        return again === target || unordered(again) === unordered(target) ? variables : undefined
      } catch {
        // It has a percent sign that encodes nothing.
        return undefined
      }
    },
  }
}

function plainText(text: string): Piece {
  const lead = normalizePart(text)
  return { names: [], required: [], parts: lead ? [{ lead }] : [], write: () => lead }
}

function expression(text: string): Piece {
  const [, sign = '', list = ''] = /^([+#./;?&]?)(.*)/.exec(text) ?? []
  const variables = list.split(',').map((entry) => {
    const [name = '', length] = entry.split(/[*:]/)
    return { name, isList: length === '', length: length ? Number(length) : undefined }
  })
  const isNamed = /[;?&]/.test(sign)
  const isReserved = /[+#]/.test(sign)
  const first = sign === '+' ? '' : sign
  const separator = /[./;]/.test(sign) ? sign : isNamed ? '&' : ','
  const required = isNamed ? [] : variables.filter(({ isList }) => !isList).map(({ name }) => name)
  return {
    names: variables.map(({ name }) => name),
    required,
    parts: isNamed ? [namedPart()] : variables.map(partOf),
    write,
  }

  function write(values: Values): string {
    const encode = isReserved ? encodeReserved : encodeAll
    const written = variables.flatMap(({ name, isList, length }) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (value === undefined) return []
      if (typeof value !== 'string' && !(Array.isArray(value) && value.every((each) => typeof each === 'string'))) {
        throw new Error(
          `The variable "${name}" of a URI template must be a string or a list of strings, not ${value === null ? null : typeof value}`,
        )
      }
      const texts = typeof value === 'string' ? [encode([...value].slice(0, length).join(''))] : value.map(encode)
      const joined = isList || texts.length === 0 ? texts : [texts.join(',')]
      return isNamed ? joined.map((text) => (text || sign !== ';' ? `${name}=${text}` : name)) : joined
    })
    return written.length > 0 ? first + written.join(separator) : ''
  }

  function partOf({ name, isList, length }: (typeof variables)[number], index: number): Part {
    const decode = isReserved ? decodeReserved : decodeURIComponent
    const lead = index === 0 ? first : separator
    return {
      lead,
      run: runOf(isReserved ? '.' : `[${isList ? separator : ''}${unreserved}]`),
      isOptional: isList && lead !== '',
      take(found, values) {
        if (isList) values.set(name, found === undefined ? [] : found.split(separator).map(decode))
        // A shortened value knows less than a full one.
        else if (!length || !values.has(name)) values.set(name, decode(found ?? ''))
      },
    }
  }

  /** Returns one part for all variables, since they may come in any order. An unknown name belongs to the next part. */
  function namedPart(): Part {
    const names = variables.map(({ name }) => name.replace(/\W/g, '\\$&')).join('|')
    return {
      lead: first,
      run: runOf(`[=${unreserved}]|${separator}(?=(?:${names})(?![${unreserved}]))`),
      isOptional: true,
      take(found, values) {
        for (const pair of found?.split(separator) ?? []) {
          const [name = '', text = ''] = pair.split('=')
          const isList = variables.find((variable) => variable.name === name)?.isList
          const value = decodeURIComponent(text)
          const list = values.get(name)
          if (isList && Array.isArray(list)) list.push(value)
          else if (isList !== undefined) values.set(name, isList ? [value] : value)
        }
      },
    }
  }
}

const unreserved = '\\w.~%-'
const runOf = (character: string): Run => {
  const source = `(?:${character})+`
  return { all: new RegExp(source, 'g'), here: new RegExp(source, 'y') }
}

const encodeAll = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/** Encodes a value, except for reserved characters and existing escapes. */
const encodeReserved = (value: string) =>
  encodeURI(value).replace(/%(?:5B|5D|25(?=[\da-fA-F]{2}))/g, (encoded) => decodeURIComponent(encoded))

/** Decodes a value as far as that loses nothing: `%2F` and similar escapes stay. */
const decodeReserved = (text: string) => decodeURI(text.replace(/%(?=2[15789A]|5[BD])/g, '%25'))

const unordered = (uri: string) => uri.split(/[?&;]/).sort().join('&')

/** Matches all parts. Each part takes as much as it can, if the following parts still match. Takes one byte per part and character. */
function find(parts: readonly Part[], uri: string): Record<string, string | string[]> | undefined {
  const end = uri.length
  const places = end + 1
  // Row n says where the parts from n on may begin so that all of them fit. There the part before may end.
  const begins = new Uint8Array((parts.length + 1) * places)
  begins[parts.length * places + end] = 1
  const reaches = new Uint8Array(places)
  for (const [n, { lead, run, isOptional }] of [...parts.entries()].reverse()) {
    const [row, next] = [n * places, (n + 1) * places]
    // Where what the part takes may begin: at an end, or where what runs on leads to one.
    reaches.set(begins.subarray(next, next + places))
    for (const { 0: found, index } of run ? uri.matchAll(run.all) : []) {
      for (let at = index + found.length - 1; at >= index; at--) if (reaches[at + 1]) reaches[at] = 1
    }
    for (let at = 0; at <= end; at++) {
      const fits = (isOptional && begins[next + at]) || (reaches[at + lead.length] && uri.startsWith(lead, at))
      // Not within an encoded character.
      if (fits && uri[at - 1] !== '%' && uri[at - 2] !== '%') begins[row + at] = 1
    }
  }
  if (!begins[0]) return undefined
  const values = new Map<string, string | string[]>()
  let at = 0
  for (const [n, part] of parts.entries()) {
    const last = uri.startsWith(part.lead, at) ? lastEnd(part, at + part.lead.length, (n + 1) * places) : undefined
    part.take?.(last === undefined ? undefined : uri.slice(at + part.lead.length, last), values)
    at = last ?? at
  }
  return Object.fromEntries(values)

  /** Returns the furthest end of a part whose literal text starts here. */
  function lastEnd({ run }: Part, start: number, next: number): number | undefined {
    for (let last = start + runLength(run, start); last >= start; last--) if (begins[next + last]) return last
    return undefined
  }

  function runLength(run: Run | undefined, start: number): number {
    if (!run) return 0
    run.here.lastIndex = start
    return run.here.exec(uri)?.[0].length ?? 0
  }
}
