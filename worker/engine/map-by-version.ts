import type { Declarations } from '../declarations/declarations.ts'

/** Returns a function that returns a map for declarations: an empty one after each change of the declarations. */
export function mapByVersion<V>(): (declarations: Declarations) => Map<string, V> {
  const maps = new WeakMap<Declarations, { readonly version: number; readonly map: Map<string, V> }>()
  return (declarations) => {
    const { version } = declarations
    const cached = maps.get(declarations)
    if (cached?.version === version) return cached.map
    const map = new Map<string, V>()
    maps.set(declarations, { version, map })
    return map
  }
}
