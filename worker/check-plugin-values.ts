/**
 * Checks what members of plugins return, as their types do. A production bundle does not contain this module: there,
 * a wrong value fails where it is used.
 */
import { checkValue, type Kind, type KindsOf } from './declarations/check-options.ts'
import * as kind from './declarations/option-kinds.ts'
import type { Plugin } from './plugin.ts'

/** Whether a value is a class. A class in the place of the function that returns it would be called without `new`. */
const isClass = (value: unknown) => typeof value === 'function' && /^class\b/.test(String(value))

const objects: Kind = [
  (value) => kind.functions[0](value) && !Object.values(Object(value)).some(isClass),
  'functions that return classes, such as { Counts: () => Counts }',
]

/** @param owner the plugin, for the error */
export function checkObjects(owner: string, value: unknown): void {
  if (value !== undefined) checkValue(owner, 'objects', value, objects)
}

/** What members return that are called with the runtime. */
const madeKinds = {
  interceptor: kind.fn,
  methods: kind.functions,
  context: kind.functions,
  templates: [Array.isArray, 'a list of templates'],
  routes: [Array.isArray, 'a list of routes'],
  provide: [(value) => !(value instanceof Promise) && kind.object()[0](value), 'an object such as { changes }'],
} satisfies Partial<KindsOf<Plugin>>

export type Made = keyof typeof madeKinds

export function checkMade(owner: string, member: Made, value: unknown): void {
  if (value !== undefined) checkValue(owner, `${member}(runtime)`, value, madeKinds[member])
}

export const checkClass = (owner: string, name: string, value: unknown): void =>
  checkValue(owner, `objects.${name}(runtime)`, value, [kind.fn[0], 'a class'])
