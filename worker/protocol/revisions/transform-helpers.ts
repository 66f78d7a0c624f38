/** Functions that the differences between protocol versions consist of. */
import { isObject } from '../jsonrpc.ts'
import type { Params } from '../types.ts'

/** Returns a copy without these members. */
export const omit =
  (...names: string[]) =>
  <T extends object>(value: T): T => {
    const copy = { ...value }
    for (const name of names) Reflect.deleteProperty(copy, name)
    return copy
  }

/** Changes every entry of a member that is a list. */
export const mapItems =
  (list: string, change: (entry: Params) => Params) =>
  <T extends object>(value: T): T => {
    const entries: unknown = Reflect.get(value, list)
    return Array.isArray(entries) ? { ...value, [list]: entries.map(change) } : value
  }

/** Changes a member that is an object. */
export const mapMember =
  (name: string, change: (member: Params) => Params) =>
  <T extends object>(value: T): T => {
    const member: unknown = Reflect.get(value, name)
    return isObject(member) ? { ...value, [name]: change(member) } : value
  }

/** Applies one change after another. */
export const pipe =
  <T>(...changes: ((value: T) => T)[]) =>
  (value: T): T =>
    changes.reduce((changed, change) => change(changed), value)

/** Changes every content block of a tool result, and of the messages of a prompt. */
export const mapContent = (change: (block: Params) => Params) => ({
  'tools/call': mapItems('content', change),
  'prompts/get': mapItems('messages', mapMember('content', change)),
})
