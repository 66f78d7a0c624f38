/** Places Durable Objects. */
export type Placement = {
  /**
   * Jurisdiction in which all Durable Objects stay. A change ends all sessions. Ignored by the local runtime, which has no jurisdictions.
   * Default: none.
   *
   * @see https://developers.cloudflare.com/durable-objects/reference/data-location/#restrict-durable-objects-to-a-jurisdiction
   */
  jurisdiction?: DurableObjectJurisdiction
  /**
   * Region in which Cloudflare tries to create Durable Objects. Default: near the client whose request creates them.
   *
   * @see https://developers.cloudflare.com/durable-objects/reference/data-location/#provide-a-location-hint
   */
  locationHint?: DurableObjectLocationHint
}

/** @throws what the platform throws for a jurisdiction that it does not know */
export function objectIn<T>(namespace: DurableObjectNamespace, name: string, placement: Placement): T & object {
  const { jurisdiction, locationHint } = placement
  const stub: object = restrictedTo(jurisdiction, namespace).getByName(name, { locationHint })
  return stub as T & object // the caller names a class, and the RPC interface that the class implements
}

function restrictedTo(jurisdiction: DurableObjectJurisdiction | undefined, all: DurableObjectNamespace) {
  if (!jurisdiction) return all
  try {
    return all.jurisdiction(jurisdiction)
  } catch (problem) {
    // What the local runtime says.
    if (String(problem).includes('not implemented in workerd')) return all
    throw problem
  }
}
