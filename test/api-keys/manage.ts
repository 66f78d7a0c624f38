/** Manages keys of `server/` by its route. */
import type { TestServer } from '../support/server.ts'

type ApiKey = {
  readonly id: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly lastUsedAt?: number
  readonly replacedBy?: string
}
type NewApiKey = ApiKey & { readonly key: string }

export class Manager {
  readonly #url: URL
  readonly #endpoint: string

  constructor({ url }: TestServer, endpoint: string) {
    this.#url = url
    this.#endpoint = endpoint
  }

  async ask(method: string, ...args: unknown[]): Promise<{ value?: unknown; error?: string }> {
    const body = JSON.stringify({ endpoint: this.#endpoint, method, args: args.filter((value) => value !== undefined) })
    const response = await fetch(new URL('/manage', this.#url), { method: 'POST', body })
    return (await response.json()) as { value?: unknown; error?: string }
  }

  async #value(method: string, ...args: unknown[]): Promise<unknown> {
    const { value, error } = await this.ask(method, ...args)
    if (error !== undefined) throw new Error(error)
    return value
  }

  create = async (owner: object, options?: object) => (await this.#value('create', owner, options)) as NewApiKey
  list = async (owner: object) => (await this.#value('list', owner)) as ApiKey[]
  revoke = async (owner: object, id: string) => (await this.#value('revoke', owner, id)) as boolean
  rotate = async (owner: object, id: string, options?: object) =>
    (await this.#value('rotate', owner, id, options)) as NewApiKey
}
