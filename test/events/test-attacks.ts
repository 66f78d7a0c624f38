/** Runs a table of attacks on one Worker. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { Stage } from './attack-stage.ts'
import type { Attack } from './attacks.ts'
import { Internet } from './receivers.ts'

/** Rows that run at the same time. */
const concurrency = 20

/** @param timeout of `events()` */
export function testAttacks(attacks: readonly Attack[], timeout: '1s' | '10s'): void {
  const internet = new Internet()
  let server: TestServer
  const outcomes = new Map(attacks.map((attack) => [attack, Promise.withResolvers<unknown>()]))
  const run = (attack: Attack) => attack.attack(new Stage(server, internet, attacks.indexOf(attack)))

  async function runAll(): Promise<void> {
    const [alone = [], rows = []] = [true, false].map((isAlone) =>
      [...outcomes].filter(([attack]) => (attack.isAlone === true) === isAlone),
    )
    for (const [attack, { resolve, reject }] of alone) await run(attack).then(resolve, reject)
    const runNext = async () => {
      for (let row = rows.shift(); row; row = rows.shift()) await run(row[0]).then(row[1].resolve, row[1].reject)
    }
    await Promise.all(Array.from({ length: concurrency }, runNext))
  }

  beforeAll(async () => {
    for (const { promise } of outcomes.values()) promise.catch(() => {})
    server = await startServer('test/events/server', { TIMEOUT: timeout }, (request) => internet.answer(request))
    runAll()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  describe.each([...Map.groupBy(attacks, ({ front }) => front)])('%s', (_, rows) => {
    test.each(rows)('$name', async (row) => {
      expect(await outcomes.get(row)?.promise).toEqual(row.expected)
    })
  })

  test('nobody else was asked', () => {
    expect(internet.strays).toEqual([])
  })
}
