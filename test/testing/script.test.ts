import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('examples/counter')
})
afterAll(() => server[Symbol.asyncDispose]())

const accept = (content: object) => ({ action: 'accept', content })

describe.each(['2025-06-18', '2025-11-25', '2026-07-28'])(
  'a client of %s with a list of input responses',
  (revision) => {
    test('sends them in order, calls functions among them, and lists those that are unused', async () => {
      const elicit = [accept({ by: 1 }), () => accept({ sure: false }), { action: 'decline' }]
      await using client = await connect(server.url, { revision, answers: { elicit } })
      expect(client.unusedAnswers).toHaveLength(3)
      expect(await client.callTool('count')).toMatchObject({ content: [{ text: 'The count did not change.' }] })
      expect(client.unusedAnswers).toEqual([{ kind: 'elicit', answer: { action: 'decline' } }])
      await client.callTool('count')
      expect(client.unusedAnswers).toEqual([])
    })

    test('fails with the input request that has no response left', async () => {
      await using client = await connect(server.url, { revision, answers: { elicit: [accept({ by: 3 })] } })
      await expect(client.callTool('count')).rejects.toThrow(
        'The server requested "Add 3?", but answers.elicit has no answer left: all 1 were used',
      )
    })
  },
)
