import { newest } from '../../../../worker/protocol/revision.ts'

/** A protocol version that does not exist: the next one, as a maintainer adds it. */
export const rev20270115 = newest('2027-01-15', { stateless: true, batching: false, polling: false }, [
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'subscriptions/listen',
])
