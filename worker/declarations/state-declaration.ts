/** The declaration of a state: its owner, its tables, its lifetime and its operations. */

/** Reads and writes the values and tables of one state, inside its operations. */
export interface Store<V extends object = Record<string, unknown>> {
  /** Returns a value; `undefined` if there is none. */
  get<K extends keyof V & string>(key: K): V[K] | undefined
  /** Stores a value. @param value any structured-cloneable value, up to 2 MB */
  put<K extends keyof V & string>(key: K, value: V[K]): void
  /** Deletes a value. Returns whether it existed. */
  delete(key: keyof V & string): boolean
  /** Returns all values, sorted by key. */
  entries(): [key: keyof V & string, value: V[keyof V & string]][]
  /**
   * Runs one SQL statement and returns its rows.
   *
   * @see https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#exec
   */
  sql<R extends Record<string, SqlValue>>(query: string, ...bindings: unknown[]): R[]
}

/** The value of a column. */
export type SqlValue = ArrayBuffer | string | number | null

/** The owners of state: each session, user, tenant or handle has one state per declaration. */
export type StateOwner = 'session' | 'user' | 'tenant' | 'handle'

export type Operations = Record<string, (...args: never[]) => unknown>

export type Declaration = {
  readonly name: string
  readonly per: StateOwner
  /** Milliseconds; `undefined`: the state is deleted with its owner, or never. */
  readonly ttl: number | undefined
  readonly tables: readonly string[]
  operations(store: Store): Operations
}

const declarations = new Map<string, Declaration>()

/** @throws Error at startup. The message names the fix */
export function declare(declaration: Declaration): void {
  const { name } = declaration
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw new Error(`The state "${name}" needs a name of 1 to 64 letters, digits, ".", "_" and "-"`)
  }
  // Objects find their declaration by its name, so it is taken in the whole Worker.
  if (declarations.has(name)) throw new Error(`The state "${name}" is declared twice: rename one`)
  declarations.set(name, declaration)
}

/** Returns the names of all states that handlers use. Those of edgemcp itself start with its name. */
export const declaredNames = (): string[] => [...declarations.keys()].filter((name) => !name.startsWith('edgemcp.'))

export const declared = (name: string): Declaration | undefined => declarations.get(name)

/** @throws Error when there is none */
export function declarationOf(name: string): Declaration {
  const declaration = declared(name)
  if (!declaration) throw new Error(`This Worker no longer declares the state "${name}"`)
  return declaration
}
