/** What a reviewer would try on a server with `auth: bearer({ issuer })`, and what comes of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimed } from './attacks/claims.ts'
import { downgraded } from './attacks/downgrades.ts'
import { forgedTokens } from './attacks/forged-tokens.ts'
import { handedOut } from './attacks/handles.ts'
import { addressed } from './attacks/hosts.ts'
import { issuers, tenants } from './attacks/issuers.ts'
import { described } from './attacks/metadata.ts'
import { called } from './attacks/origins.ts'
import { scopes } from './attacks/scopes.ts'
import { sending } from './attacks/sending.ts'
import { sessions } from './attacks/sessions.ts'
import { sideways } from './attacks/side-doors.ts'
import { signed } from './attacks/signatures.ts'
import { type Attack, Stage } from './attacks/stage.ts'
import { anonymously } from './attacks/strangers.ts'

const groups: Readonly<Record<string, readonly Attack[]>> = {
  ...forgedTokens,
  ...signed,
  ...claimed,
  ...sending,
  ...issuers,
  ...scopes,
  ...sideways,
  ...sessions,
  ...downgraded,
  ...handedOut,
  ...called,
  ...addressed,
  ...described,
  ...anonymously,
}

let stage: Stage

beforeAll(async () => {
  stage = await Stage.start(tenants)
})
afterAll(() => stage[Symbol.asyncDispose]())

for (const [group, attacks] of Object.entries(groups)) {
  describe(group, () => {
    for (const attack of attacks) {
      // Those that cause nothing can go on at once: were there an effect, one of them would be wrong, whichever it is.
      const isQuiet = !attack.ran?.length && !attack.asked && !attack.alone
      const carriedOut = isQuiet ? test.concurrent : test
      carriedOut(attack.name, () => carryOut(attack))
    }
  })
}

async function carryOut({ by, outcome, ran = [], asked = {} }: Attack): Promise<void> {
  const before = new Map(stage.issuer.asked)
  const since = (path: string) => (stage.issuer.asked.get(path) ?? 0) - (before.get(path) ?? 0)
  expect(await by(stage)).toEqual(outcome)
  const effects = [...stage.issuer.asked.keys()].filter((path) => path.startsWith('/ran/'))
  const run = effects.flatMap((path) => Array<string>(since(path)).fill(path.slice('/ran/'.length)))
  expect(run.sort()).toEqual([...ran].sort())
  expect(Object.fromEntries(Object.keys(asked).map((path) => [path, since(path)]))).toEqual(asked)
}

test('no response to an attack contains a token or key material', () => {
  expect(stage.secrets.size).toBeGreaterThan(300)
  expect(stage.answers.length).toBeGreaterThan(500)
  const told = stage.answers.join('\n')
  expect([...stage.secrets].filter((secret) => told.includes(secret))).toEqual([])
  const keys = Object.values(stage.keys).map(({ publicJwk }) => (publicJwk.n ?? publicJwk.x) as string)
  expect(keys.filter((key) => told.includes(key))).toEqual([])
})

test('no log line contains a token', () => {
  const logs = stage.server.harness.getLogs()
  const told = JSON.stringify(logs)
  expect(logs.length).toBeGreaterThan(0)
  expect([...stage.secrets].filter((secret) => told.includes(secret))).toEqual([])
})

test('the groups contain 714 attacks with unique names', () => {
  const names = Object.entries(groups).flatMap(([group, attacks]) => attacks.map(({ name }) => `${group}: ${name}`))
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBe(714)
})
