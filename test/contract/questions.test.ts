import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Message } from '../../worker/protocol/jsonrpc.ts'
import type { Params } from '../../worker/protocol/types.ts'
import type { Answers } from '../../worker/testing/index.ts'
import { behaviour, type Cannot, withServer } from '../support/behaviour.ts'

withServer()

const accept = (content: Params) => ({ action: 'accept', content })

const says = (answers: Answers, tool: string): Cannot['instead'] => {
  return async ({ connect }) => {
    const client = await connect({ answers })
    const result = await client.callTool(tool)
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('This call needs a client') }],
    })
  }
}

const noElicitation = (tool: string, answers: Answers): Cannot => ({
  revisions: ['2024-11-05', '2025-03-26'],
  because: 'elicitation came with 2025-06-18',
  instead: says(answers, tool),
})

const named: Answers = { elicit: () => accept({ name: 'Ada' }) }
behaviour(
  'a tool elicits a form, and continues with the answer',
  async ({ connect, kind }) => {
    const asked: Params[] = []
    const elicit: Answers['elicit'] = (params) => {
      asked.push(params)
      return accept({ name: 'Ada' })
    }
    const client = await connect({ answers: { elicit } })
    const steps: unknown[] = []
    const result = await client.callTool('ask_name', {}, { onProgress: ({ progress }) => steps.push(progress) })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello, Ada!' }])
    expect(steps).toEqual([1, 2])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      message: 'What is your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] },
    })
    expect(asked[0]?.mode).toBe(kind.revision >= '2025-11-25' ? 'form' : undefined)
  },
  noElicitation('ask_name', named),
)

behaviour(
  'a tool elicits a URL, and the client is notified of its completion',
  async ({ connect, kind }) => {
    const asked: Params[] = []
    const elicit: Answers['elicit'] = (params) => {
      asked.push(params)
      return { action: 'accept' }
    }
    const client = await connect({ answers: { elicit }, capabilities: { elicitation: { form: {}, url: {} } } })
    const { content } = await client.callTool('ask_url')
    expect(content).toEqual([{ type: 'text', text: 'The page: accept' }])
    const names = kind.revision === '2025-11-25'
    expect(asked).toEqual([
      {
        mode: 'url',
        message: 'Connect your account',
        url: 'https://example.com/connect?flow=1',
        ...(names && { elicitationId: expect.any(String) }),
      },
    ])
    const done = client.notifications.filter(({ method }) => method === 'notifications/elicitation/complete')
    expect(done.map(({ params }) => params)).toEqual(names ? [{ elicitationId: asked[0]?.elicitationId }] : [])
    // A client that can show forms only is not asked.
    const other = await connect({ answers: { elicit } })
    const refused = await other.callTool('ask_url').catch((problem) => problem)
    expect(JSON.stringify(refused.content ?? refused.message)).toContain(
      'This call needs a client that supports elicitation.url',
    )
    expect(asked).toHaveLength(1)
  },
  {
    revisions: ['2024-11-05', '2025-03-26', '2025-06-18'],
    because: 'pages came with 2025-11-25',
    instead: says({ elicit: () => ({ action: 'accept' }) }, 'ask_url'),
  },
)

behaviour(
  'a call requires the user to visit a URL before it can run',
  async ({ connect, kind }) => {
    const asked: Params[] = []
    const elicit: Answers['elicit'] = (params) => {
      asked.push(params)
      return { action: 'accept' }
    }
    const client = await connect({ answers: { elicit }, capabilities: { elicitation: { url: {} } } })
    const who = randomUUID()
    const page = { mode: 'url', message: 'Sign in first', url: `https://example.com/in?who=${who}` }
    if (kind.revision === '2025-11-25') {
      const refused = await client.callTool('sign_in', { who }).catch((problem) => problem)
      const again = await client.callTool('sign_in', { who }).catch((problem) => problem)
      const elicitations = [{ ...page, elicitationId: expect.any(String) }]
      expect(refused).toMatchObject({ code: -32042, message: 'Sign in first', data: { elicitations } })
      expect(again.data.elicitations[0].elicitationId).not.toBe(refused.data.elicitations[0].elicitationId)
      expect(asked).toEqual([])
    } else {
      expect((await client.callTool('sign_in', { who })).content).toMatchObject([
        { text: 'Say when you have signed in' },
      ])
      expect(asked).toEqual([page])
    }
    await client.callTool('signed_in', { who })
    expect((await client.callTool('sign_in', { who })).content).toMatchObject([{ text: 'Signed in' }])
    // One that can show forms only is told neither.
    const other = await connect({ answers: { elicit }, capabilities: { elicitation: { form: {} } } })
    const refused = await other.callTool('sign_in', { who: randomUUID() }).catch((problem) => problem)
    expect(JSON.stringify(refused.content ?? refused.message)).toContain('supports elicitation.url')
  },
  {
    revisions: ['2024-11-05', '2025-03-26', '2025-06-18'],
    because: 'pages came with 2025-11-25',
    async instead({ connect }) {
      const client = await connect({ answers: { elicit: () => ({ action: 'accept' }) } })
      const result = await client.callTool('sign_in', { who: randomUUID() })
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('elicitation.url') }] })
    },
  },
)

for (const action of ['decline', 'cancel']) {
  behaviour(
    `a user can ${action} a form`,
    async ({ connect }) => {
      const client = await connect({ answers: { elicit: () => ({ action }) } })
      expect((await client.callTool('ask_name')).content).toEqual([{ type: 'text', text: `No name: ${action}` }])
    },
    noElicitation('ask_name', { elicit: () => ({ action }) }),
  )
}

behaviour(
  'input requests follow one another, and effects between them run once',
  async ({ connect }) => {
    const elicit: Answers['elicit'] = ({ message }) => accept({ value: String(message) })
    const client = await connect({ answers: { elicit } })
    expect((await client.callTool('ask_twice')).content).toEqual([{ type: 'text', text: 'First? Second? 0' }])
  },
  noElicitation('ask_twice', named),
)

behaviour(
  'a form has the fields that the protocol version supports',
  async ({ connect, kind }) => {
    let properties: Params = {}
    const elicit: Answers['elicit'] = (params) => {
      properties = (params.requestedSchema as { properties: Params }).properties
      return accept({ colour: 'green', size: 3, sure: false })
    }
    const client = await connect({ answers: { elicit } })
    const { content } = await client.callTool('ask_choices')
    expect(content).toEqual([{ type: 'text', text: '{"colour":"green","size":3,"sure":false}' }])
    const { colour, size, sure, mail } = properties as Record<string, Params>
    expect(colour).toMatchObject({ type: 'string', enum: ['red', 'green'] })
    expect(colour?.default).toBe(kind.revision >= '2025-11-25' ? 'red' : undefined)
    expect(size).toEqual({ type: 'number', minimum: 1, maximum: 9 })
    expect(sure).toEqual({ type: 'boolean', default: true })
    expect(mail).toEqual({ type: 'string', format: 'email' })
  },
  noElicitation('ask_choices', named),
)

/** How a call of a tool ends whose client sent an invalid answer: in a session, the model reads it. */
const refusedIn = ({ revision }: { revision: string }, message: unknown) =>
  revision >= '2026-07-28' ? { code: -32602, message } : { isError: true, content: [{ type: 'text', text: message }] }

behaviour(
  'an invalid answer to a form does not reach the handler',
  async ({ connect, kind }) => {
    const client = await connect({ answers: { elicit: () => accept({ name: '' }) } })
    const misfit = expect.stringContaining('does not fit its schema: name')
    expect(await client.callTool('ask_name').catch((error) => error)).toMatchObject(refusedIn(kind, misfit))
    const odd = await connect({ answers: { elicit: () => ({ action: 'perhaps' }) } })
    const invalid = expect.stringContaining('is not a valid elicitation/create result')
    expect(await odd.callTool('ask_name').catch((error) => error)).toMatchObject(refusedIn(kind, invalid))
  },
  noElicitation('ask_name', named),
)

const paris = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test' }
behaviour('a tool requests sampling', async ({ connect }) => {
  let asked: Params = {}
  const sample: Answers['sample'] = (params) => {
    asked = params
    return paris
  }
  const client = await connect({ answers: { sample } })
  expect((await client.callTool('ask_model')).content).toEqual([{ type: 'text', text: 'The model says: Paris' }])
  expect(asked).toEqual({
    messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
    maxTokens: 50,
  })
})

behaviour('a tool requests the roots of the client', async ({ connect }) => {
  const client = await connect({ answers: { roots: () => ({ roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] }) } })
  expect((await client.callTool('ask_roots')).content).toEqual([{ type: 'text', text: 'file:///a file:///b' }])
})

behaviour('an input response beyond its bound ends the call with an error', async ({ connect, kind }) => {
  const roots = Array.from({ length: 1001 }, () => ({ uri: 'file:///a' }))
  const client = await connect({ answers: { roots: () => ({ roots }) } })
  const result = await client.callTool('ask_roots').catch((problem) => problem)
  // Stateless clients send the response with the call, which is refused. In a session, the handler gets the error.
  expect(result).toMatchObject(kind.revision >= '2026-07-28' ? { code: -32602 } : { isError: true })
  const problem = result.message ?? result.content[0].text
  expect(problem).toMatch(/roots has 1001 entries: this server accepts at most 1000$/)
})

behaviour(
  'roots are requested again only after list_changed, from a client that declares it',
  async ({ connect, kind }) => {
    let asked = 0
    let uri = 'file:///a'
    const roots = () => {
      asked += 1
      return { roots: [{ uri }] }
    }
    const client = await connect({ answers: { roots }, capabilities: { roots: { listChanged: true } } })
    const read = async () => (await client.callTool('ask_roots')).content
    expect(await read()).toMatchObject([{ text: 'file:///a' }])
    expect(await read()).toMatchObject([{ text: 'file:///a' }])
    const isStateless = kind.revision >= '2026-07-28'
    expect(asked).toBe(isStateless ? 2 : 1)
    if (isStateless) return
    uri = 'file:///b'
    await client.notify('notifications/roots/list_changed')
    expect(await read()).toMatchObject([{ text: 'file:///b' }])
    expect(asked).toBe(2)

    // One that does not tell is asked each time.
    const silent = await connect({ answers: { roots }, capabilities: { roots: {} } })
    await silent.callTool('ask_roots')
    await silent.callTool('ask_roots')
    expect(asked).toBe(4)
  },
)

behaviour('an invalid list of roots is not cached', async ({ connect, kind }) => {
  const roots = [{ roots: [{ name: 'no address' }] }, { roots: [{ uri: 'file:///a' }] }]
  const client = await connect({ answers: { roots }, capabilities: { roots: { listChanged: true } } })
  const invalid = expect.stringContaining('is not a valid roots/list result')
  expect(await client.callTool('ask_roots').catch((error) => error)).toMatchObject(refusedIn(kind, invalid))
  expect((await client.callTool('ask_roots')).content).toMatchObject([{ text: 'file:///a' }])
  expect(client.unusedAnswers).toEqual([])
})

behaviour(
  'elicitation and sampling are requested at once',
  async ({ connect }) => {
    const answers: Answers = { elicit: () => accept({ value: 'mine' }), sample: () => paris }
    const client = await connect({ answers })
    expect((await client.callTool('ask_together')).content).toEqual([{ type: 'text', text: 'mine and Paris' }])
  },
  noElicitation('ask_together', { ...named, sample: () => paris }),
)

behaviour(
  'prompts and resources can request input',
  async ({ connect }) => {
    const elicit: Answers['elicit'] = ({ message }) => accept(message === 'May I?' ? { ok: true } : { topic: 'bees' })
    const client = await connect({ answers: { elicit } })
    const prompt = await client.request('prompts/get', { name: 'ask' })
    expect(prompt.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Tell me about bees' } }])
    const resource = await client.request('resources/read', { uri: 'data://asks' })
    expect(resource.contents).toEqual([{ uri: 'data://asks', text: 'shown' }])
  },
  {
    revisions: ['2024-11-05', '2025-03-26'],
    because: 'elicitation came with 2025-06-18',
    async instead({ connect }) {
      const client = await connect({ answers: named })
      await expect(client.request('prompts/get', { name: 'ask' })).rejects.toMatchObject({ code: -32600 })
    },
  },
)

behaviour('a client gets no input request without the capability', async ({ connect, kind }) => {
  const seen: Message[] = []
  const client = await connect({ capabilities: {}, onMessage: (_, message) => seen.push(message) })
  for (const [tool, requiredCapabilities] of [
    ['ask_name', { elicitation: { form: {} } }],
    ['ask_model', { sampling: {} }],
    ['ask_roots', { roots: {} }],
  ] as const) {
    if (kind.revision >= '2026-07-28') {
      await expect(client.callTool(tool)).rejects.toMatchObject({
        code: -32021,
        status: 400,
        data: { requiredCapabilities },
      })
    } else expect(await client.callTool(tool)).toMatchObject({ isError: true })
  }
  const { content } = await client.callTool('can')
  expect(JSON.parse((content[0] as { text: string }).text)).toMatchObject({
    elicitation: false,
    sampling: false,
    roots: false,
  })
  const asked = seen.filter((message) => 'method' in message && /elicitation|sampling|roots/.test(message.method))
  expect(asked).toEqual([])
})
