/**
 * Refreshes the tokens of many grants at the same time, while the server is killed over and over. No client may lose its grant, and the
 * provider may never get a refresh token twice at the same time.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { GitHub } from '../sign-in/github.ts'
import { signInAs, type Tokens, tokenRequest } from '../sign-in/tokens.ts'
import { serverProcess } from '../support/process.ts'
import { chance } from '../support/random.ts'

/** Refreshes that each part of a client sends at the same time, with one refresh token. */
const atOnce = 4

const root = resolve(import.meta.dirname, '../..')

export async function signIn({ seed = 1, grants = 100, refreshes = 10_000, kills = 8 } = {}): Promise<string> {
  const began = performance.now()
  await using gitHub = await GitHub.start()
  // All tokens of the provider expire at once, so that each call refreshes them.
  gitHub.expiresIn = 30
  gitHub.beforeRefresh = () => sleep(5)
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-sign-in-'))
  writeFileSync(join(folder, 'wrangler.toml'), configuration(gitHub.url))
  await using server = await serverProcess(({ port, data }) => ['test/chaos/serve.ts', port, data, folder])
  const { between } = chance(seed)
  try {
    await server.start()
    const clients: Client[] = []
    for (let index = 0; index < grants; index++) {
      gitHub.account = { id: index + 1, login: `user-${index}`, name: `User ${index}` }
      const browser = new Browser()
      clients.push(new Client(server.url, browser, await signInAs(server.url, browser), { ...gitHub.account }))
    }
    const rounds = Math.ceil(refreshes / grants / atOnce)
    const work = Promise.all(clients.map((client) => client.run(rounds, gitHub)))
    let isOver = false
    const killing = (async () => {
      for (let kill = 0; kill < kills && !isOver; kill++) {
        await sleep(between(2000, 5000))
        if (isOver) break
        await server.kill()
        await server.start()
        counts.kills += 1
      }
    })()
    await work
    isOver = true
    await killing
    for (const client of clients) assert.equal(await client.whoami(), client.subject)
    assert.ok(counts.kills > 0, 'The server was never killed while tokens were refreshed')
    assert.equal(gitHub.overlaps, 0, 'The provider got one refresh token twice at the same time')
    return [
      `${grants} grants, ${counts.refreshes} refreshes (${atOnce} at a time with one token), ${counts.kills} kills`,
      `${counts.broken} requests broken by a kill and repeated, no grant lost`,
      `${counts.calls} calls of ctx.upstream(), ${gitHub.refreshed.length} refreshes at the provider, none twice at the same time, ${counts.links} users connected it again`,
      `${((performance.now() - began) / 1000).toFixed(0)} s`,
    ].join('; ')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const counts = { refreshes: 0, kills: 0, broken: 0, calls: 0, links: 0 }

class Client {
  readonly subject: string
  readonly #url: URL
  readonly #browser: Browser
  readonly #account: GitHub['account']
  #tokens: Tokens

  constructor(url: URL, browser: Browser, tokens: Tokens, account: GitHub['account']) {
    this.#url = url
    this.#browser = browser
    this.#tokens = tokens
    this.#account = account
    this.subject = `github.${account.id}`
  }

  /** Refreshes, and calls the API of the provider now and then. */
  async run(rounds: number, gitHub: GitHub): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const all = await Promise.all(Array.from({ length: atOnce }, () => this.#refresh(this.#tokens)))
      counts.refreshes += all.length
      const [first] = all
      assert.ok(first)
      for (const tokens of all) assert.equal(tokens.refresh_token, first.refresh_token)
      this.#tokens = first
      if (round % 5 === 4) await this.#callUpstream(gitHub)
    }
  }

  whoami = async () => JSON.parse(await this.#call('whoami')).subject as string

  async #refresh({ client_id, refresh_token }: Tokens): Promise<Tokens> {
    const params = { grant_type: 'refresh_token', refresh_token, client_id }
    const response = await untilAnswered(() => tokenRequest(this.#url, params))
    const answer = (await response.json()) as Tokens
    assert.equal(response.status, 200, `An honest client was refused: ${JSON.stringify(answer)}`)
    return { ...answer, client_id }
  }

  async #callUpstream(gitHub: GitHub): Promise<void> {
    counts.calls += 1
    const text = await this.#call('starred')
    const [url] = /http\S+$/.exec(text) ?? []
    if (url === undefined) return assert.ok(gitHub.tokens.has(text), text)
    // The answer of the provider was lost with the server: the user connects it again.
    counts.links += 1
    await untilAnswered(async () => {
      gitHub.account = this.#account
      const page = await this.#browser.open(new URL(url))
      assert.match(page, /is connected|too old|opened before|failed/)
      return new Response()
    })
  }

  async #call(tool: string): Promise<string> {
    const response = await untilAnswered(async () => {
      await using client = await connect(this.#url, { revision: '2026-07-28', token: this.#tokens.access_token })
      return Response.json(await client.callTool(tool))
    })
    const { content } = (await response.json()) as { content: { text: string }[] }
    return content[0]?.text ?? ''
  }
}

/** Sends a request again while the server is down. */
async function untilAnswered(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    try {
      const response = await send()
      if (response.status < 500) return new Response(await response.text(), response)
    } catch (problem) {
      if (problem instanceof assert.AssertionError) throw problem
    }
    counts.broken += 1
    await sleep(50)
  }
}

const configuration = (gitHub: string): string => `name = "sign-in"
main = "${join(root, 'test/sign-in/server/index.ts')}"
compatibility_date = "2026-10-15"
compatibility_flags = ["enable_request_signal"]
[vars]
EDGEMCP_KEYS = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
CASE = "choice"
GITHUB = "${gitHub}"
WORK = "http://127.0.0.1:1"
OPENID = "http://127.0.0.1:1"
ORIGIN = "http://127.0.0.1:1"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpSession", "McpSignIn"]
`
