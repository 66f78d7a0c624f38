/** edgemcp/subscriptions: Send change notifications to subscribed clients. */
export type { SubscriptionsOptions } from '../../../durable-objects/subscriptions/object.ts'
export type {
  Recipients,
  SessionRecipients,
  SubscriberCount,
  TopicRecipients,
  UserRecipients,
} from '../../protocol/changes.ts'
export { type PublishEntrypoint, publishEntrypoint } from './publish-entrypoint.ts'
export { type SubscriptionsClass, subscriptions } from './subscriptions.ts'
