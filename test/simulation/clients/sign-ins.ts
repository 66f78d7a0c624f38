/** Users who sign in, apps that refresh their tokens, and what ends their access. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { App, callWith, operate, type Tokens } from './app.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** An app keeps the access that it was given, and loses it when it ends: at once, or a minute later where a token was used before. */
export function signIns(world: World): void {
  const { random } = world
  const users = random.pick([1, 1, 2])
  for (let index = 1; index <= users; index += 1) {
    const user = `user-${index}`
    world.start(`sign-ins of ${user}`, async () => {
      const apps = await Promise.all(Array.from({ length: random.pick([1, 1, 2]) }, () => use(world, user)))
      await random.pick([signOut, copied, expire])(world, user, apps)
      await leave(world, user)
    })
  }
  world.checks.push(() => {
    assert.deepEqual(world.provider.offences, [])
    if (world.faultCount === 0)
      assert.equal(world.provider.repeats, 0, 'a refresh token was sent again without a fault')
  })
}

type InUse = { readonly app: App; readonly tokens: Tokens; readonly old?: readonly string[] }

/** Signs in, and uses the tokens for some time. */
async function use(world: World, user: string): Promise<InUse> {
  const { random } = world
  const app = await App.register(world)
  let tokens = await app.signIn(user)
  const old: string[] = []
  for (let rounds = random.whole(1, 5); rounds > 0; rounds -= 1) {
    const before = tokens
    const calls = random.chance(0.7) ? random.whole(1, 3) : 0
    const isRefresh = random.chance(0.5)
    if (isRefresh) old.push(before.refresh)
    const calling = Array.from({ length: calls }, () => call(world, user, before))
    ;[tokens] = await Promise.all([isRefresh ? app.refreshed(before) : before, ...calling])
    await world.sleep(minuteMs + random.pick([0, 5 * minuteMs, 70 * minuteMs]))
  }
  return { app, tokens, old }
}

async function call(world: World, user: string, { access, until }: Tokens): Promise<void> {
  const { lateSeconds } = world
  const tool = world.random.pick(['whoami', 'mail', 'mail'])
  const text = await callWith(world, access, tool)
  if (text === undefined) return assert.ok(world.now() >= until - 1000, 'a token that is valid was refused')
  if (tool === 'whoami') return assert.equal(text, `company.${user}`)
  // The token is valid for a minute, which a clock that jumps or a client that reads late ends.
  assert.ok(world.provider.accepts(text) || world.lateSeconds > lateSeconds, `ctx.upstream() returned ${text}`)
}

/** The operator signs the user out, also while an app refreshes and others sign in. Access that is allowed afterwards goes on. */
async function signOut(world: World, user: string, apps: readonly InUse[]): Promise<void> {
  const { random } = world
  const signIn = async () => {
    const app = await App.register(world)
    return { app, tokens: await app.trySignIn(user) }
  }
  const running = [
    ...Array.from({ length: random.pick([0, 1, 3]) }, signIn),
    ...apps.map(async ({ app, tokens }) => ({
      app,
      tokens: random.chance(0.5) ? await app.tryRefresh(tokens) : tokens,
    })),
  ]
  await world.sleep(random.between(0, random.pick([1000, 3000])))
  const before = world.now()
  const { faultCount } = world
  await operate(world, 'signOut', { user: `company.${user}` })
  // Another attempt that was lost may go on.
  const isOver = world.faultCount === faultCount
  const after = world.now()
  running.push(signIn())
  // A user who is asked again after the end of access allows it again.
  const all = (await Promise.all(running)).flatMap(({ app, tokens }) => (tokens ? [{ app, tokens }] : []))
  const ended = all.filter(({ tokens }) => tokens.allowedAt < before)
  for (const { tokens } of all) if (isOver && tokens.allowedAt > after) await call(world, user, tokens)
  await checkEnded(world, ended)
  const [isRevoked, ...others] = world.provider.revocationsOf(user)
  // Those of a later sign-in replace them.
  if (world.faultCount === 0 && others.length === 0) assert.ok(isRevoked, 'the tokens of the provider were not revoked')
}

/** Somebody has copied an old refresh token of the first app. */
async function copied(world: World, _: string, [first]: readonly InUse[]): Promise<void> {
  const { app, old } = first ?? {}
  // The one before the last is accepted until the last one is used.
  const [copy] = old?.slice(0, -1) ?? []
  if (!first || !app || copy === undefined) return
  const { status } = await app.refresh(copy)
  assert.equal(status, 400, 'an old refresh token was accepted')
  await checkEnded(world, [first])
}

async function expire(): Promise<void> {}

async function checkEnded(world: World, apps: readonly InUse[]): Promise<void> {
  const refresh = async () => {
    for (const { app, tokens } of apps) {
      const { status } = await app.refresh(tokens.refresh)
      assert.equal(status, 400, 'access that has ended was refreshed')
    }
  }
  // A refresh ends what is left of a grant.
  if (world.random.chance(0.5)) await refresh()
  await world.sleep(minuteMs)
  for (const { tokens } of apps)
    assert.equal(
      await callWith(world, tokens.access, 'whoami'),
      undefined,
      'a token of access that has ended is accepted',
    )
  await refresh()
}

/** After the lifetime of refresh tokens and approvals, nothing of the user is stored. */
async function leave(world: World, user: string): Promise<void> {
  await world.sleep(31 * dayMs)
  for (const name of world.stored('McpSignIn').keys()) {
    assert.ok(!name.includes(`company.${user}`), `${name} has outlived the access of its user`)
  }
}
