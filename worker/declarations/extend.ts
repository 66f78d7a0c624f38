/** Adds interceptors, methods, extensions and capabilities to a server, while `server.use()` calls a module. */
import type { Params } from '../protocol/types.ts'
import type { DeclarationsDraft, ReadCapabilities } from './declarations.ts'
import type { Forwarded } from './forwarded.ts'
import type { Interceptor } from './interceptor.ts'

export function addInterceptors(draft: DeclarationsDraft, interceptors: readonly Interceptor[]): void {
  draft.interceptors.push(...interceptors)
  draft.version += 1
}

/**
 * @param method a `Method` of the engine
 * @throws Error when the server has another method of this name
 */
export function addMethod(draft: DeclarationsDraft, name: string, method: unknown): void {
  const known = draft.methods.get(name)
  if (known !== undefined && known !== method) {
    throw new Error(
      `The method "${name}" is declared twice, by this server, its modules or mounted servers: rename or remove one`,
    )
  }
  replaceMethod(draft, name, method)
}

/** Replaces a method by one that wraps it. @param method a `Method` of the engine */
export function replaceMethod(draft: DeclarationsDraft, name: string, method: unknown): void {
  draft.methods.set(name, method)
  draft.version += 1
}

/** Several modules may declare an extension with the same settings. @throws Error when the settings differ */
export function addExtensions(draft: DeclarationsDraft, extensions: Readonly<Record<string, Params>>): void {
  for (const [name, settings] of Object.entries(extensions)) {
    const known = draft.extensions?.[name]
    if (known && JSON.stringify(known) !== JSON.stringify(settings)) {
      throw new Error(`The extension "${name}" is declared twice, with different settings: declare it once`)
    }
  }
  draft.extensions = { ...draft.extensions, ...extensions }
  draft.version += 1
}

/** Adds experimental capabilities. Those that exist already do not change. */
export function addExperimental(draft: DeclarationsDraft, experimental: Readonly<Record<string, Params>>): void {
  draft.experimental = { ...experimental, ...draft.experimental }
  draft.version += 1
}

/** Adds upstreams whose tools, resources and prompts this server offers, too. */
export function addForwarded(draft: DeclarationsDraft, forwarded: readonly Forwarded[]): void {
  draft.forwarded.push(...forwarded)
  draft.version += 1
}

/** Adds capabilities. Those that exist already do not change. */
export function addCapabilities(draft: DeclarationsDraft, read: ReadCapabilities): void {
  const { capabilities } = draft
  draft.capabilities = async (...from) => ({ ...(await read(...from)), ...(await capabilities?.(...from)) })
  draft.version += 1
}
