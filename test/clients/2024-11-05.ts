import { Client } from 'mcp-sdk-2024-11-05/client/index.js'
import { SSEClientTransport } from 'mcp-sdk-2024-11-05/client/sse.js'
import {
  CreateMessageRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from 'mcp-sdk-2024-11-05/types.js'
import { capabilitiesOf, listedRoots, sampled } from './answers.ts'
import { type Generation, newNotes, oneByOne, overhear } from './generation.ts'
import { sdk1Client } from './sdk-1.ts'

/** The two-endpoint transport: the stream is at `/sse`, next to `/mcp`. */
export const sdk20241105: Generation = {
  name: 'sdk 1.9.0 over HTTP+SSE',
  revision: '2024-11-05',
  cannot: {
    'structured output': { because: 'the revision has none', shows: /expected undefined to deeply equal/ },
    'structured output of any kind': { because: 'the revision has none', shows: /expected undefined to deeply equal/ },
    audio: { because: 'the revision has no sound', shows: /to deep equally contain .*audio/ },
    'resource links': { because: 'the revision has none', shows: /to deep equally contain ObjectContaining/ },
    elicitation: { because: 'the revision has none', shows: /This call / },
    'taking up a session': { because: 'the stream is the session', shows: /expected undefined to deeply equal/ },
    polling: { because: 'the revision knows no way back', shows: /requests with Last-Event-ID/ },
    resumption: { because: 'the stream is the session', shows: /expected undefined to be 'The model|to include 'note/ },
  },
  async connect(url, answers) {
    const transport = new SSEClientTransport(new URL('sse', url))
    const heard = overhear(transport, oneByOne())
    const notes = newNotes()
    const client = new Client({ name: 'sdk 1.9', version: '1.9.0' }, { capabilities: capabilitiesOf(answers) })
    client.onerror = (error) => notes.complaints.push(error)
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void notes.updates.push(params.uri),
    )
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notes.changes.add('tools'))
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notes.changes.add('prompts'))
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notes.changes.add('resources'))
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void notes.logs.push(params.level))
    const { sample, roots } = answers
    if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sampled(sample, params))
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => listedRoots(roots))
    await client.connect(transport)
    const [welcome] = heard
    return sdk1Client(client, {
      notes,
      heard,
      // Neither the client nor its transport remembers.
      revision: () => welcome?.result?.protocolVersion as string | undefined,
      session: () => undefined,
      // The stream is the session.
      end: () => client.close(),
    })
  },
}
