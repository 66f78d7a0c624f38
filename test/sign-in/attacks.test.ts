/** What a reviewer would try on a server with `auth: signIn()`, and what comes of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sample } from '../support/full.ts'
import { callbacks } from './attacks/callbacks.ts'
import { codes } from './attacks/codes.ts'
import { consents } from './attacks/consents.ts'
import { redirects } from './attacks/redirects.ts'
import { Stage } from './attacks/stage.ts'
import { tokens } from './attacks/tokens.ts'

const groups = { ...codes, ...redirects, ...consents, ...callbacks, ...tokens }

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('there are at least 150 attacks', () => {
  expect(Object.values(groups).flat().length).toBeGreaterThanOrEqual(150)
})

describe.each(Object.entries(groups))('%s', (_, attacks) => {
  test.each(sample(attacks, 4))('$name', async ({ by, outcome }) => {
    expect(await by(stage)).toEqual(outcome)
  })
})
