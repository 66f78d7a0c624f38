/**
 * Names of the objects of sign-in. Each names its authorization server, by its origin and the identity of its endpoint: two hosts of one
 * Worker, and two endpoints that share the class, have no user, client or token in common.
 */
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'

/** Identifies an authorization server. */
export type Realm = Pick<OAuthSite, 'origin' | 'identity'>

/** @param key what the object stores, such as `user:<user>` */
export const objectName = ({ origin, identity }: Realm, key: string): string => JSON.stringify([origin, identity, key])

/** Reads a name of `objectName`. */
export function readObjectName(name: string): Realm & { readonly key: string } {
  const [origin = '', identity = '', key = ''] = JSON.parse(name)
  return { origin, identity, key }
}
