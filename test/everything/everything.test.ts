/** Runs the reference server and examples/everything beside each other, and compares what published clients see of them. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFull } from '../support/full.ts'
import type { TestServer } from '../support/server.ts'
import { answers, type Group, groups } from './cases.ts'
import { type Difference, differences, judge, tableOf, textOf } from './compare.ts'
import { expectedDifferences } from './differences.ts'
import { normalize } from './normalize.ts'
import { type ClientKind, type Participant, sdk1, sdk2 } from './participant.ts'
import { type ReferenceServer, startExample, startReference } from './servers.ts'

let reference: ReferenceServer
let example: TestServer
let fileServer: Server

beforeAll(async () => {
  fileServer = createServer(sendFile).listen(0)
  ;[reference, example] = await Promise.all([startReference(), startExample()])
})
afterAll(async () => {
  fileServer.closeAllConnections()
  fileServer.close()
  await Promise.all([reference[Symbol.asyncDispose](), example[Symbol.asyncDispose]()])
})

const sendFile: Parameters<typeof createServer>[1] = ({ url, socket }, response) => {
  if (url === '/hello') response.end('hello')
  else if (url === '/large') response.end('l'.repeat(3000))
  else if (url === '/chunked') for (let part = 0; part < 30; part++) response.write('c'.repeat(100))
  else if (url === '/slow') response.write('s')
  else if (url === '/missing') response.writeHead(404).end('nothing here')
  else if (url === '/redirect') response.writeHead(302, { Location: '/hello' }).end()
  else socket.destroy()
}

describe.each([sdk1, sdk2])('$name', (kind) => {
  test('gets the answers of the reference server, except for the expected differences', async () => {
    const { port } = fileServer.address() as AddressInfo
    const found: Difference[] = []
    const cases: string[] = []
    for (const group of groups(`http://localhost:${port}`)) {
      if (group.needsSession && kind !== sdk1) continue
      if (group.isSlow && !isFull) continue
      const [ofReference, ofExample] = await Promise.all([
        play(kind, reference.url, group),
        play(kind, example.url, group),
      ])
      group.cases.forEach(({ name }, index) => {
        const full = `${group.name}: ${name}`
        cases.push(full)
        // Two servers that send nothing would be equal.
        expect(JSON.stringify(ofReference[index])).not.toContain('"no notification"')
        found.push(...differences(full, normalize(ofReference[index]), normalize(ofExample[index])))
      })
    }
    const { unexpected, explained, gone } = judge(found, expectedDifferences, kind.name, cases)
    console.log(tableOf(kind.name, cases.length, explained))
    expect(unexpected.map(textOf)).toEqual([])
    expect(gone.map(({ reason }) => reason)).toEqual([])
  })
})

async function play(kind: ClientKind, url: URL, { capabilities, cases }: Group): Promise<unknown[]> {
  const client = await kind.connect(url, capabilities, answers)
  try {
    if (url === reference.url && capabilities.roots) await rootsRequested(client)
    const seen: unknown[] = []
    for (const { run } of cases) seen.push(await run(client))
    return seen
  } finally {
    await client.close()
  }
}

/** The reference server requests the roots when a session starts. */
async function rootsRequested(client: Participant): Promise<void> {
  await client.notified('notifications/message', ({ data }) => String(data).startsWith('Roots updated'))
}
