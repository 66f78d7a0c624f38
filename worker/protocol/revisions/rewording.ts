/** The few verbs that differences between revisions are written with. */
import type { Params } from '../types.ts'

/** A copy without these members. */
export const without =
  (...names: string[]) =>
  <T extends object>(value: T): T => {
    const copy = { ...value } as Record<string, unknown>
    for (const name of names) delete copy[name]
    return copy as T
  }

/** Applies a change to every entry of a list member. */
export const each =
  (list: string, change: (entry: Params) => Params) =>
  <T extends object>(value: T): T => {
    const entries = (value as Params)[list]
    return Array.isArray(entries) ? { ...value, [list]: entries.map(change) } : value
  }

/** Applies a change to one member that is an object. */
export const inside =
  (name: string, change: (member: Params) => Params) =>
  <T extends object>(value: T): T => {
    const member = (value as Params)[name]
    return typeof member === 'object' && member !== null ? { ...value, [name]: change(member as Params) } : value
  }

/** One change after another. */
export const all =
  <T>(...changes: ((value: T) => T)[]) =>
  (value: T): T =>
    changes.reduce((changed, change) => change(changed), value)

/** Applies a change to every content block of a tool result, and of the messages of a prompt. */
export const blocks = (change: (block: Params) => Params) => ({
  'tools/call': each('content', change),
  'prompts/get': each('messages', inside('content', change)),
})
