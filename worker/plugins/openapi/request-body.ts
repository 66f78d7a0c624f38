/** The body of a request: JSON, or a form. */
import { decodeBase64 } from '../../protocol/base64.ts'
import { maxAnswerBytes } from '../../protocol/bounded-body.ts'
import { ToolError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { bounded, encodeForm, type Field, fieldsOf } from './form-fields.ts'
import { multipartForm, type Operation, urlEncodedForm } from './operation-type.ts'

type FieldStyles = NonNullable<Operation['bodyFields']>

/** The names of deep fields repeat those of their parents, so that a form can be far larger than the argument. */
const maxFormCharacters = maxAnswerBytes

/**
 * Returns the body of a request.
 *
 * @throws ToolError for a form that is no object or too large, and for a file that is not base64
 */
export function requestBody(
  { bodyType, bodyFields = {}, hasOtherFiles }: Pick<Operation, 'bodyType' | 'bodyFields' | 'hasOtherFiles'>,
  value: unknown,
): string | FormData {
  if (bodyType !== urlEncodedForm && bodyType !== multipartForm) return JSON.stringify(value)
  if (!isObject(value)) throw new ToolError('"body" must be an object: its members are the fields of the form')
  if (bodyType === multipartForm) return multipart(value, bodyFields, hasOtherFiles)
  const fields = formFields(Object.entries(value), bodyFields, encodeForm)
  return Array.from(bounded(fields, 'form', maxFormCharacters), (field) => field.join('=')).join('&')
}

function multipart(value: Params, styles: FieldStyles, hasOtherFiles = false): FormData {
  const form = new FormData()
  const files: [name: string, file: FilePart][] = []
  const texts: [name: string, value: unknown][] = []
  for (const [name, member] of Object.entries(value)) {
    const { isFile = false } = Object.hasOwn(styles, name) ? styleOf(name, styles) : { isFile: hasOtherFiles }
    const entries = isFile ? [member].flat() : []
    files.push(...entries.filter(isFilePart).map((file): [string, FilePart] => [name, file]))
    texts.push([name, isFile ? entries.filter((entry) => !isFilePart(entry)) : member])
  }
  const fields = formFields(texts, styles, (text) => text.toWellFormed())
  for (const [name, text] of bounded(fields, 'form', maxFormCharacters)) form.append(inHeader(name), text)
  for (const [name, file] of files) form.append(inHeader(name), fileOf(name, file))
  return form
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
const inHeader = (name: string): string => name.toWellFormed().replace(/[\r\n"]/g, encodeURIComponent)

function* formFields(
  members: readonly (readonly [name: string, value: unknown])[],
  styles: FieldStyles,
  encode: (text: string) => string,
): Iterable<Field> {
  for (const [name, member] of members) yield* fieldsOf(name, member, styleOf(name, styles), encode)
}

/** Ignores names that objects inherit, such as `constructor`. */
const styleOf = (name: string, styles: FieldStyles) => (Object.hasOwn(styles, name) && styles[name]) || {}

function fileOf(field: string, { data, filename = field, mimeType = 'application/octet-stream' }: FilePart): File {
  try {
    return new File([decodeBase64(data)], inHeader(String(filename)), { type: String(mimeType) })
  } catch {
    throw new ToolError(`The "data" of the file "${field}" must be base64`)
  }
}
