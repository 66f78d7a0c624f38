import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { capabilitiesOf, elicited, listedRoots, sampled } from './answers.ts'
import { type Generation, type Message, newNotes, oneByOne, overhear } from './generation.ts'
import { reconnectionOptions, sdk1Client } from './sdk-1.ts'

/** What clients of this revision do without. */
export const without20251125: Generation['cannot'] = {
  'structured output of any kind': {
    because: 'the revision has objects only, so it is wrapped',
    shows: /expected \{ result: \[ 'one', 'two'/,
  },
  'cancelling by leaving': { because: 'a lost connection may come back', shows: /expected 'waiting' to be/ },
}

export const sdk20251125 = generation('sdk 1.32.2', without20251125, (url, sessionId) => {
  const transport = new StreamableHTTPClientTransport(url, { sessionId, reconnectionOptions })
  return {
    transport,
    heard: overhear(transport),
    revision: () => transport.protocolVersion,
    session: () => transport.sessionId,
    end: () => transport.terminateSession(),
  }
})

const { 'cancelling by leaving': _, ...withoutSse } = without20251125

/** The transport of the first revision, which a client of any revision with sessions may use. */
export const sdk20251125OverSse = generation(
  'sdk 1.32.2 over HTTP+SSE',
  {
    ...withoutSse,
    'taking up a session': { because: 'the stream is the session', shows: /expected undefined to deeply equal/ },
    polling: { because: 'the transport knows no way back', shows: /requests with Last-Event-ID/ },
    resumption: { because: 'the stream is the session', shows: /expected undefined to be 'The model|to include 'note/ },
  },
  (url) => {
    const transport = new SSEClientTransport(new URL('sse', url))
    const heard = overhear(transport, oneByOne())
    return {
      transport,
      heard,
      revision: () => heard[0]?.result?.protocolVersion as string | undefined,
      session: () => undefined,
      end: () => transport.close(),
    }
  },
)

type Link = {
  transport: Transport
  heard: Message[]
  revision: () => string | undefined
  session: () => string | undefined
  end: () => Promise<void>
}

function generation(
  name: string,
  cannot: Generation['cannot'],
  linkTo: (url: URL, sessionId: string | undefined) => Link,
): Generation {
  return {
    name,
    revision: '2025-11-25',
    cannot,
    async connect(url, answers, sessionId) {
      const { transport, ...link } = linkTo(url, sessionId)
      const notes = newNotes()
      const client = new Client({ name: 'sdk 1.32', version: '1.32.2' }, { capabilities: capabilitiesOf(answers) })
      client.onerror = (error) => notes.complaints.push(error)
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void notes.updates.push(params.uri),
      )
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notes.changes.add('tools'))
      client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notes.changes.add('prompts'))
      client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notes.changes.add('resources'))
      client.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params }) => void notes.logs.push(params.level),
      )
      const { elicit, sample, roots } = answers
      if (elicit) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => elicited(elicit, params))
      if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sampled(sample, params))
      if (roots) client.setRequestHandler(ListRootsRequestSchema, () => listedRoots(roots))
      await client.connect(transport)
      return sdk1Client(client, { notes, ...link })
    },
  }
}
