import type { Context } from '../../declarations/context.ts'

/** Returns a copy of a context with other members. A getter stays a getter: `signal` is made when it is first read. */
export const replacing = (context: Context, members: Partial<Context>): Context =>
  Object.create(Object.getPrototypeOf(context), {
    ...Object.getOwnPropertyDescriptors(context),
    ...Object.getOwnPropertyDescriptors(members),
  })
