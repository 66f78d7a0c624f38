/** What a Task object needs of its Worker, for tests that make the object themselves. */
import type { TaskHost } from '../../durable-objects/task/object.ts'
import type { Server } from '../../worker/declarations/server.ts'

type Given = { readonly server: Pick<Server, 'declarations'> } & Partial<Pick<TaskHost, 'publishStatus' | 'report'>>

/** How clients refer to a task of an anonymous caller. */
export const references = { name: 'task x', taskId: 'sealed', scopes: [] }

/** A host without seals or state: callers are anonymous, and no problem is one of the platform. */
export const taskHost = ({ server, publishStatus = async () => {}, report = () => {} }: Given): TaskHost =>
  ({
    at: () => ({ server, seals: () => ({}) }),
    principalOf: async () => ({ principal: undefined, isCurrent: true }),
    problemOf: () => undefined,
    publishStatus,
    report,
    // The tests that use it reach nothing else.
  }) as unknown as TaskHost
