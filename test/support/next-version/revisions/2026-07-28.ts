/**
 * 2026-07-28, as the difference to the invented version: it marks the status of tasks, so that tests see in which version a client
 * gets them.
 */
import { before } from '../../../../worker/protocol/revision.ts'
import { mapMember } from '../../../../worker/protocol/revisions/transform-helpers.ts'
import type { Params } from '../../../../worker/protocol/types.ts'
import { rev20270115 } from './2027-01-15.ts'

const mark = (params: Params): Params =>
  mapMember('_meta', (meta) => ({ ...meta, 'com.example/marked': true }))({ _meta: {}, ...params })

export const rev20260728 = before(rev20270115, {
  date: '2026-07-28',
  traits: { stateless: true, batching: false, polling: false },
  results: { 'tasks/get': mark },
  notifications: { 'notifications/tasks': mark },
})
