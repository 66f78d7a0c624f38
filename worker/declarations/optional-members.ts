/**
 * Optional members of what handlers return. A client that validates results rejects all of a result or a list for one member of the wrong
 * type, and `null` is one: databases have it for absent values.
 */
import { DeveloperError, type Failure } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import type { Params } from '../protocol/types.ts'
import { isObject, type Kinds, wrongValue } from './check-options.ts'
import * as kind from './option-kinds.ts'

/** Optional members of a value that has annotations. */
export const annotated = { annotations: kind.annotations, _meta: kind.object() } satisfies Kinds

/** Optional members of a resource, in lists and links. */
export const describing = {
  name: kind.string,
  title: kind.string,
  description: kind.string,
  icons: kind.icons,
  _meta: kind.object(),
  mimeType: kind.string,
  size: kind.size,
  annotations: kind.annotations,
} satisfies Kinds

/** Members of contents, of which one of `text` and `blob` is enough. */
export const ofContents = {
  uri: kind.string,
  mimeType: kind.string,
  text: kind.string,
  blob: kind.base64,
  _meta: kind.object(),
} satisfies Kinds

/**
 * Leaves out members that are `null` or `undefined`.
 *
 * @param owner the value, for the error: `the result of tool "report"`
 * @param path the text before names of members, for the error: `content[0].`
 * @param Failure the class of the error. Default: `DeveloperError`. That of a tool is no `McpError`, so the model reads it
 * @returns the value itself if it has no such members
 * @throws Error that names the member, for one of another type, and for `_meta` without a JSON form
 */
export function readOptional<V extends object>(
  value: V,
  kinds: Kinds,
  owner: string,
  path = '',
  Failure: Failure = DeveloperError,
): V {
  const members: Params = isObject(value) ? value : {}
  let read = value
  for (const [key, kind] of Object.entries(kinds)) {
    const [accepts, , inner, isRequired] = kind
    const member = members[key]
    if (!isRequired && (member === null || member === undefined)) {
      if (!(key in members)) continue
      if (read === value) read = { ...value }
      Reflect.deleteProperty(read, key)
      continue
    }
    const place = path + key
    if (!accepts(member)) throw new Failure(wrongValue(owner, place, member, kind))
    if (key === '_meta') jsonText(member, `"${place}" of ${owner} has`, Failure)
    if (!inner) continue
    const readMember = (each: unknown) =>
      isObject(each) ? readOptional(each, inner, owner, `${place}.`, Failure) : each
    const now = Array.isArray(member) ? member.map(readMember) : readMember(member)
    if (now !== member) read = { ...read, [key]: now }
  }
  return read
}
