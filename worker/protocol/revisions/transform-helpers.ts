/** The few verbs that differences between revisions are written with. */
import { isObject } from '../jsonrpc.ts'
import type { Params } from '../types.ts'

/** A copy without these members. */
export const omit =
  (...names: string[]) =>
  <T extends object>(value: T): T => {
    const copy = { ...value }
    for (const name of names) Reflect.deleteProperty(copy, name)
    return copy
  }

/** Applies a change to every entry of a list member. */
export const mapItems =
  (list: string, change: (entry: Params) => Params) =>
  <T extends object>(value: T): T => {
    const entries: unknown = Reflect.get(value, list)
    return Array.isArray(entries) ? { ...value, [list]: entries.map(change) } : value
  }

/** Applies a change to one member that is an object. */
export const mapMember =
  (name: string, change: (member: Params) => Params) =>
  <T extends object>(value: T): T => {
    const member: unknown = Reflect.get(value, name)
    return isObject(member) ? { ...value, [name]: change(member) } : value
  }

/** One change after another. */
export const pipe =
  <T>(...changes: ((value: T) => T)[]) =>
  (value: T): T =>
    changes.reduce((changed, change) => change(changed), value)

/** Applies a change to every content block of a tool result, and of the messages of a prompt. */
export const mapContent = (change: (block: Params) => Params) => ({
  'tools/call': mapItems('content', change),
  'prompts/get': mapItems('messages', mapMember('content', change)),
})
