/** Counts what sign-in costs: `npm run cost` prints the table, and writes it into docs/guides/costs.md. */

import { RawClient } from '../test/sign-in/client.ts'
import { GitHub } from '../test/sign-in/github.ts'
import type { Tally } from '../test/support/counted/tally.ts'
import { evict } from '../test/support/objects.ts'
import { startServer, type TestServer } from '../test/support/server.ts'
import { Browser, formOf } from '../worker/testing/provider/browser.ts'

type Counts = Tally & { readonly http: number; readonly names: readonly string[] }

/** The counts of one operation of sign-in. */
export type SignInCost = { readonly operation: string } & Pick<
  Counts,
  'http' | 'calls' | 'rowsRead' | 'rowsWritten' | 'woken' | 'alarmsSet'
>

const minuteMs = 60_000

/** Runs every operation of a sign-in with one provider, in real workerd over real HTTP. */
export async function measureSignIn(): Promise<SignInCost[]> {
  await using gitHub = await GitHub.start()
  gitHub.expiresIn = 7200
  await using server = await startServer('test/support/counted-sign-in', { GITHUB: gitHub.url })
  // The first sign-in creates the key that signs remembered approvals, which all sign-ins share.
  await new RawClient(server.url).signIn()
  const costs: SignInCost[] = []
  const counted = counter(server, costs)
  const client = new RawClient(server.url)
  const browser = new Browser()

  const call = async (token: string, tool = 'whoami'): Promise<void> => {
    const answer = await client.call(token, tool)
    if (!/^200 g(?:ithub\.|ho_)/.test(answer)) throw new Error(`${tool}: ${answer}`)
  }

  const registered = await counted('a client registers itself', () => client.registered())
  const asked = client.ask(registered)
  const page = await counted('the consent page', () => browser.visit(asked.url))
  const form = formOf(await page.text(), { decision: 'github' })
  const follow = async (response: Response) => new URL(response.headers.get('Location') as string)
  const toProvider = await counted('the user allows the app', async () =>
    follow(await browser.visit(client.at('/authorize'), form)),
  )
  const callback = await follow(await browser.visit(toProvider))
  const back = await counted('the user comes back from the provider', async () => follow(await browser.visit(callback)))
  const code = back.searchParams.get('code') as string
  const first = await counted('the client redeems the code', () => tokens(client.token(client.codeForm(asked, code))))
  await counted('a call, the token is new to the isolate', () => call(first.access_token))
  await counted('a call, the token is known', () => call(first.access_token))
  await counted('`ctx.upstream()`, the first one in a minute', () => call(first.access_token, 'upstream'))
  await counted('`ctx.upstream()`, again', () => call(first.access_token, 'upstream'))
  const next = await counted('a refresh', () =>
    tokens(client.token(client.refreshForm(registered, first.refresh_token))),
  )
  await counted('… of the same token again', () =>
    tokens(client.token(client.refreshForm(registered, first.refresh_token))),
  )
  await call(next.access_token)
  await fetch(new URL(`/counted?later=${2 * 60 * minuteMs - minuteMs / 2}`, server.url))
  const third = await tokens(client.token(client.refreshForm(registered, next.refresh_token)))
  await call(third.access_token)
  await counted('`ctx.upstream()`, the token of the provider has expired', () => call(third.access_token, 'upstream'))
  await counted('the client revokes its grant', () =>
    client.token({ token: third.refresh_token, client_id: registered.id }),
  )
  return costs
}

async function tokens(response: Promise<Response>): Promise<{ access_token: string; refresh_token: string }> {
  const { ok, status } = await response
  if (!ok) throw new Error(`The token endpoint answered with status ${status}`)
  return (await response).json() as Promise<{ access_token: string; refresh_token: string }>
}

/** Returns a function that counts an operation whose objects were evicted before. */
function counter(server: TestServer, costs: SignInCost[]) {
  const counts = async () => (await fetch(new URL('/counted', server.url))).json() as Promise<Counts>
  return async <T>(operation: string, run: () => Promise<T>): Promise<T> => {
    const { names } = await counts()
    for (const name of names) await evict(server, 'McpSignIn', name, 'close')
    const result = await run()
    const { http, calls, rowsRead, rowsWritten, woken, alarmsSet } = await counts()
    costs.push({ operation, http, calls, rowsRead, rowsWritten, woken, alarmsSet })
    return result
  }
}
