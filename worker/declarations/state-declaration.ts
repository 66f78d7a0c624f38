/** What a state is: whose it is, its tables, how long it is kept, and what may be done with it. */

/** Values by key, and tables, of one state. For use inside operations. */
export interface Store<V extends object = Record<string, unknown>> {
  get<K extends keyof V & string>(key: K): V[K] | undefined
  /** @param value anything that can be cloned, up to 2 MB */
  put<K extends keyof V & string>(key: K, value: V[K]): void
  /** True when there was one. */
  delete(key: keyof V & string): boolean
  /** All values, sorted by key. */
  entries(): [key: keyof V & string, value: V[keyof V & string]][]
  /**
   * Runs one statement and returns its rows.
   *
   * @see https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#exec
   */
  sql<R extends Record<string, SqlValue>>(query: string, ...bindings: unknown[]): R[]
}

/** What a column may hold. */
export type SqlValue = ArrayBuffer | string | number | null

/** What a state exists once for. */
export type StateOwner = 'session' | 'user' | 'tenant' | 'handle'

export type Operations = Record<string, (...args: never[]) => unknown>

export type Declaration = {
  readonly name: string
  readonly per: StateOwner
  /** Milliseconds; `undefined`: it lapses with what it belongs to, or never. */
  readonly ttl: number | undefined
  readonly tables: readonly string[]
  operations(store: Store): Operations
}

const declarations = new Map<string, Declaration>()

/** @throws Error at start-up, with one sentence that names the fix */
export function declare(declaration: Declaration): void {
  const { name } = declaration
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw new Error(`The state "${name}" needs a name of 1 to 64 letters, digits, ".", "_" and "-"`)
  }
  // Objects find their declaration by its name, so it is taken in the whole Worker.
  if (declarations.has(name)) throw new Error(`The state "${name}" is declared twice: rename one`)
  declarations.set(name, declaration)
}

/** The names of all states that handlers use: those of edgemcp itself start with its name. */
export const declaredNames = (): string[] => [...declarations.keys()].filter((name) => !name.startsWith('edgemcp.'))

export const declared = (name: string): Declaration | undefined => declarations.get(name)

/** @throws Error when there is none */
export function declarationOf(name: string): Declaration {
  const declaration = declared(name)
  if (!declaration) throw new Error(`The state "${name}" is not declared in this Worker any more`)
  return declaration
}
