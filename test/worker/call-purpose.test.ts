/** The arguments of a call can be many: what its request state is sealed for is read from them once. */
import { expect, test, vi } from 'vitest'
import type { Call, Seals } from '../../worker/engine/call.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import type { Host } from '../../worker/http/host.ts'
import { readRound, sealRound } from '../../worker/http/stateless/request-state.ts'
import { createServer } from '../../worker/index.ts'

test('the arguments of a call are hashed once, when its state is opened and when it is sealed again', async () => {
  using hashing = vi.spyOn(crypto.subtle, 'digest')
  const sealed: string[] = []
  const seals = {
    open: async (purpose: string) => {
      sealed.push(purpose)
      return { journal: emptyJournal }
    },
    seal: async (purpose: string) => {
      sealed.push(purpose)
      return 'state'
    },
  } as Partial<Seals> as Seals
  const server = createServer({ name: 'shop', version: '1.0.0' })
  const host = { server } as Partial<Host> as Host
  const call = {
    method: 'tools/call',
    params: { name: 'pay', arguments: { amount: 1 }, requestState: 'state' },
  } as Partial<Call> as Call
  const request = {
    message: { ...call, jsonrpc: '2.0' as const, id: 1 },
    call,
    target: resolve(server.declarations, call),
  }
  const round = await readRound(request, seals, host)
  const outcome = { type: 'input_required', inputRequests: {}, journal: emptyJournal, answerTimeoutMs: 1_000 } as const
  await sealRound(request, round, outcome, seals, host)
  expect(hashing).toHaveBeenCalledOnce()
  expect(new Set(sealed).size).toBe(1)
})
