/** The body of a request: JSON, or a form. */
import { preview } from '../../declarations/check-options.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import { maxAnswerBytes } from '../../protocol/bounded-body.ts'
import { ToolError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import {
  bounded,
  boundedEncoder,
  encodeForm,
  type Field,
  fieldsOf,
  refuseMethodField,
  sentMembers,
  wellFormed,
} from './form-fields.ts'
import { multipartForm, type Operation, urlEncodedForm } from './operation-type.ts'
import { declaredNames } from './references.ts'

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
    if (count > maxFields) throw tooMany()
    yield field
  }
}

const tooMany = (): ToolError => new ToolError(`The arguments make a form of more than ${maxFields} fields: send less`)

/**
 * Returns the body of a request.
 *
 * @throws ToolError for a form that is no object or too large, and for a file that is not base64
 */
export function requestBody(
  { bodyType, bodyFields = {}, hasOtherFiles, input = { type: 'object' } }: Partial<Operation>,
  value: unknown,
): string | Blob {
  const declared = new Set([...Object.keys(bodyFields), ...declaredNames('body', input)])
  const isForm = bodyType === urlEncodedForm || bodyType === multipartForm
  if (!isForm) {
    // Some servers read the fields of a form in JSON, too.
    if (isObject(value)) for (const name of Object.keys(value)) if (!declared.has(name)) refuseMethodField(name)
    return JSON.stringify(value)
  }
  if (!isObject(value)) throw new ToolError('"body" must be an object: its members are the fields of the form')
  const members = sentMembers(value, declared, (name) => styleOf(name, bodyFields).isDeep)
  if (bodyType === multipartForm) return multipart(value, members, bodyFields, hasOtherFiles)
  return Array.from(boundedForm(urlEncodedFields(members, bodyFields), value), (field) => field.join('=')).join('&')
}

type Members = Iterable<[name: string, value: unknown]>

function* urlEncodedFields(members: Members, styles: FieldStyles): Iterable<Field> {
  const encode = boundedEncoder(encodeForm, 'form', maxFormCharacters)
  for (const [name, member] of members) {
    yield* fieldsOf(name, member, styleOf(name, styles), encode)
  }
}

/**
 * Not a `FormData`, which has a type for files only.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
function multipart(value: Params, members: Members, styles: FieldStyles, hasOtherFiles = false): Blob {
  const boundary = crypto.randomUUID()
  const start = `--${boundary}\r\n`
  const content: (string | Uint8Array<ArrayBuffer>)[] = []
  const parts = boundedForm(partsOf(members, styles, hasOtherFiles), value, `${start}\r\n`.length)
  for (const [header, text] of parts) content.push(start + header, text, '\r\n')
  content.push(`--${boundary}--\r\n`)
  return new Blob(content, { type: `${multipartForm}; boundary=${boundary}` })
}

type Part = readonly [header: string, content: string | Uint8Array<ArrayBuffer>]

/** Yields the texts, then the files. */
function* partsOf(members: Members, styles: FieldStyles, hasOtherFiles: boolean): Iterable<Part> {
  const files: [name: string, file: FilePart, type: string | undefined][] = []
  for (const [name, member] of members) {
    const style = Object.hasOwn(styles, name) ? styleOf(name, styles) : { isFile: hasOtherFiles }
    const { contentType } = style
    const isTogether = style.isDeep || style.separator
    for (const entry of isTogether ? [member] : [member].flat()) {
      if (style.isFile && isFilePart(entry)) {
        files.push([name, entry, contentType])
        if (files.length > maxFields) throw tooMany()
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
 * @throws ToolError for a name with a backslash, which many servers remove: `f\[role]` would be `f[role]`. One at the end hides the quote.
 * Also for one with an encoded word of RFC 2047, which some servers decode
 */
function headerOf(name: string, type = '', filename?: string): string {
  if (name.includes('\\')) throw new ToolError(`${preview(name)} cannot be the name of a part: it has a backslash`)
  if (name.includes('=?')) throw new ToolError(`${preview(name)} cannot be the name of a part: it has "=?"`)
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
