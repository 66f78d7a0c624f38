/** The body of a request: JSON, or a form. */
import { preview } from '../../declarations/check-options.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import { maxAnswerBytes } from '../../protocol/bounded-body.ts'
import { ToolError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { bounded, boundedEncoder, encodeForm, type Field, fieldsOf, refuseControls, wellFormed } from './form-fields.ts'
import { multipartForm, type Operation, urlEncodedForm } from './operation-type.ts'

type FieldStyles = NonNullable<Operation['bodyFields']>

const maxFormCharacters = 2 * maxAnswerBytes

/** Fields or parts of a form. Servers read a thousand, unless they are told otherwise. */
const maxFields = 10_000

/** Characters of a form for which the argument is not measured. */
const maxShortForm = 65_536

/**
 * Yields the fields or parts of a form. The names of deep fields repeat those of their parents, and parts have headers, so that a form could
 * be a thousand times as large as the argument.
 *
 * @throws ToolError as soon as they are too many, or too large for the argument
 */
function* boundedForm<T extends Field | Part>(fields: Iterable<T>, value: Params, perField?: number): Iterable<T> {
  const maxCharacters = () => Math.min(maxFormCharacters, maxShortForm + 16 * JSON.stringify(value).length)
  let count = 0
  for (const field of bounded(fields, 'form', maxShortForm, perField, maxCharacters)) {
    count += 1
    if (count > maxFields) throw new ToolError(`The arguments make a form of more than ${maxFields} fields: send less`)
    yield field
  }
}

/**
 * Returns the body of a request.
 *
 * @throws ToolError for a form that is no object or too large, and for a file that is not base64
 */
export function requestBody(
  { bodyType, bodyFields = {}, hasOtherFiles }: Pick<Operation, 'bodyType' | 'bodyFields' | 'hasOtherFiles'>,
  value: unknown,
): string | Blob {
  if (bodyType !== urlEncodedForm && bodyType !== multipartForm) return JSON.stringify(value)
  if (!isObject(value)) throw new ToolError('"body" must be an object: its members are the fields of the form')
  if (bodyType === multipartForm) return multipart(value, bodyFields, hasOtherFiles)
  const fields = urlEncodedFields(value, bodyFields)
  return Array.from(boundedForm(fields, value), (field) => field.join('=')).join('&')
}

function* urlEncodedFields(value: Params, styles: FieldStyles): Iterable<Field> {
  const encode = boundedEncoder(encodeForm, 'form', maxFormCharacters)
  for (const [name, member] of formMembers(value, styles)) {
    yield* fieldsOf(name, member, styleOf(name, styles), encode)
  }
}

/**
 * Some servers ignore spaces and brackets in front of a name: `[a][b]` is `a[b]`. PHP also reads blanks and dots in it as `_`.
 *
 * @see https://www.php.net/manual/en/language.variables.external.php
 */
const asRead = (name: string): string => name.replace(/^[\s[\]]+/, '').replaceAll(/[\s.]/g, '_')

/** Returns the members of a form. @throws ToolError for a name that the API would read as a deep object, or as a part of one */
function formMembers(value: Params, styles: FieldStyles): [string, unknown][] {
  const deep = Object.keys(styles).filter((name) => styles[name]?.isDeep)
  const reads = deep.map((name) => [name, asRead(name)] as const)
  const members = Object.entries(value)
  if (deep.length === 0) return members
  for (const [name] of members) {
    if (deep.includes(name)) continue
    const read = asRead(name)
    // PHP reads "[" as "_", too, if no "]" follows.
    const text = read.replace('[', '_')
    const isPart = (start: string) => read.startsWith(start) && /[[\]]/.test(read.charAt(start.length))
    const [parent] = reads.find(([, start]) => isPart(start) || text === start) ?? []
    if (parent !== undefined)
      throw new ToolError(`${preview(name)} would be a part of "${parent}": send it inside of "${parent}"`)
  }
  return members
}

/**
 * Not a `FormData`, which has a type for files only.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
function multipart(value: Params, styles: FieldStyles, hasOtherFiles = false): Blob {
  const boundary = crypto.randomUUID()
  const start = `--${boundary}\r\n`
  const content: (string | Uint8Array<ArrayBuffer>)[] = []
  const parts = boundedForm(partsOf(value, styles, hasOtherFiles), value, `${start}\r\n`.length)
  for (const [header, text] of parts) content.push(start + header, text, '\r\n')
  content.push(`--${boundary}--\r\n`)
  return new Blob(content, { type: `${multipartForm}; boundary=${boundary}` })
}

type Part = readonly [header: string, content: string | Uint8Array<ArrayBuffer>]

/** Yields the texts, then the files. */
function* partsOf(value: Params, styles: FieldStyles, hasOtherFiles: boolean): Iterable<Part> {
  const files: [name: string, file: FilePart, type: string | undefined][] = []
  for (const [name, member] of formMembers(value, styles)) {
    const style = Object.hasOwn(styles, name) ? styleOf(name, styles) : { isFile: hasOtherFiles }
    const { contentType } = style
    const isTogether = style.isDeep || style.separator
    for (const entry of isTogether ? [member] : [member].flat()) {
      if (style.isFile && isFilePart(entry)) {
        refuseControls(name)
        files.push([name, entry, contentType])
        continue
      }
      const isJson = typeof entry === 'object' && !isTogether
      const type = isJson && !/[/+]json\b/i.test(contentType ?? '') ? 'application/json' : contentType
      const fields = fieldsOf(name, isTogether ? entry : [entry], style, wellFormed)
      for (const [field, text] of fields) yield [headerOf(field, type), text]
    }
  }
  for (const [name, file, type = ''] of files) {
    const { filename = name, mimeType = type } = file
    yield [headerOf(name, String(mimeType), String(filename)), bytesOf(name, file)]
  }
}

/**
 * Returns the header of a part. A type that no header can have is as none.
 *
 * @throws ToolError for a name with a backslash, which many servers remove: `f\[role]` would be `f[role]`. One at the end hides the quote
 */
function headerOf(name: string, type = '', filename?: string): string {
  if (name.includes('\\')) throw new ToolError(`${preview(name)} cannot be the name of a part: it has a backslash`)
  if (filename?.endsWith('\\'))
    throw new ToolError(`${preview(filename)} cannot be the name of a file: it ends with a backslash`)
  const file = filename === undefined ? '' : `; filename="${inHeader(filename)}"`
  const sent = /^[ -~]+$/.test(type) ? type : file && 'application/octet-stream'
  const typeLine = sent && `Content-Type: ${sent}\r\n`
  return `Content-Disposition: form-data; name="${inHeader(name)}"${file}\r\n${typeLine}\r\n`
}

type FilePart = { readonly data: string; readonly filename?: unknown; readonly mimeType?: unknown }

/** Whether a value is a file. One with other members is an object, which is sent as JSON. */
const isFilePart = (value: unknown): value is FilePart =>
  isObject(value) &&
  typeof value.data === 'string' &&
  Object.keys(value).every((key) => /^(?:data|filename|mimeType)$/.test(key))

/**
 * Encodes a name for the header of a part.
 *
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
 */
const inHeader = (name: string): string => wellFormed(name).replaceAll(/[\p{Cc}"]/gu, encodeURIComponent)

/** Ignores names that objects inherit, such as `constructor`. */
const styleOf = (name: string, styles: FieldStyles) => (Object.hasOwn(styles, name) && styles[name]) || {}

function bytesOf(field: string, { data }: FilePart): Uint8Array<ArrayBuffer> {
  try {
    return decodeBase64(data)
  } catch {
    throw new ToolError(`The "data" of the file "${field}" must be base64`)
  }
}
