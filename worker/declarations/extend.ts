/** What modules add to a server besides tools, resources and prompts, while `server.use()` runs them. */
import type { Params } from '../protocol/types.ts'
import type { DeclarationsDraft, ReadCapabilities } from './declarations.ts'
import type { Forwarded } from './forwarded.ts'
import type { Interceptor } from './interceptor.ts'

export function addInterceptors(draft: DeclarationsDraft, interceptors: readonly Interceptor[]): void {
  draft.interceptors.push(...interceptors)
  draft.version += 1
}

/** @throws Error when the name has no prefix */
export function checkExtensionName(name: string): void {
  if (/^[a-z][\w-]*(?:\.[a-z][\w-]*)*\/[a-z0-9][\w.-]*$/i.test(name)) return
  throw new Error(`The extension "${name}" needs a prefix that is yours, such as "com.example/${name}"`)
}

/** A method that is there already is replaced. @param method an engine's `Method` */
export function addMethod(draft: DeclarationsDraft, name: string, method: unknown): void {
  draft.methods.set(name, method)
  draft.version += 1
}

/** Settings of a name that is there already are replaced. */
export function addExtensions(draft: DeclarationsDraft, extensions: Readonly<Record<string, Params>>): void {
  draft.extensions = { ...draft.extensions, ...extensions }
  draft.version += 1
}

/** Experimental capabilities of a name that is there already stay as they are. */
export function addExperimental(draft: DeclarationsDraft, experimental: Readonly<Record<string, Params>>): void {
  draft.experimental = { ...experimental, ...draft.experimental }
  draft.version += 1
}

/** Servers whose tools, resources and prompts this server has as well. */
export function addForwarded(draft: DeclarationsDraft, forwarded: readonly Forwarded[]): void {
  draft.forwarded.push(...forwarded)
  draft.version += 1
}

/** Capabilities of a name that is there already stay as they are. */
export function addCapabilities(draft: DeclarationsDraft, read: ReadCapabilities): void {
  const { capabilities } = draft
  draft.capabilities = async (revision, principal) => ({
    ...(await read(revision, principal)),
    ...(await capabilities?.(revision, principal)),
  })
  draft.version += 1
}
