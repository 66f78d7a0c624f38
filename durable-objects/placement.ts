/** Where objects are kept. */
export type Placement = {
  /**
   * Where the Durable Objects must stay, those that hear of changes included. Changing it ends all sessions. The local
   * runtime knows no jurisdictions: there it is ignored.
   *
   * @see https://developers.cloudflare.com/durable-objects/reference/data-location/
   */
  jurisdiction?: DurableObjectJurisdiction
  /** Where they are best made; left out: near the client that makes them. */
  locationHint?: DurableObjectLocationHint
}

/** @throws what the platform throws for a jurisdiction that it does not know */
export function objectIn<T>(namespace: DurableObjectNamespace, name: string, placement: Placement): T {
  const { jurisdiction, locationHint } = placement
  // The caller names a class, and the RPC interface that the class implements.
  return restrictedTo(jurisdiction, namespace).getByName(name, { locationHint }) as T
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
