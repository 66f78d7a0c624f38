/** Runs every scenario on every server that supports its dialect, in rounds, and reads the CPU time of each round. */
import { join } from 'node:path'
import { Clients } from './client.ts'
import { Folder } from './folder.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Server, servers } from './servers.ts'
import { type Process, startWorkerd } from './workerd.ts'

export type Measurement = {
  readonly scenario: string
  readonly server: string
  /** Microseconds of CPU for one operation, by round. */
  readonly cpu: readonly number[]
}

/** Operations before the first round of a scenario, until the code is compiled and optimized. */
const warmUp = 1500
/** Operations of one turn. The fewer they are, the more equal the other load of the machine for all servers. */
const turn = 500

type Stage = Server & { workerd: Process; clients: Clients }

/** @throws Error for a wrong response */
export async function measure(rounds: number): Promise<Measurement[]> {
  using folder = new Folder()
  const stages: Stage[] = []
  try {
    for (const [index, server] of servers.entries()) {
      const workerd = await startWorkerd(server, join(folder.path, `${index}`))
      stages.push({ ...server, workerd, clients: new Clients(workerd.url, server.dialect) })
    }
    const measurements: Measurement[] = []
    for (const scenario of scenarios) {
      const taking = stages.filter(
        ({ dialect, only }) => scenario.dialects.includes(dialect) && (only?.includes(scenario.name) ?? true),
      )
      measurements.push(...(await play(scenario, taking, rounds)))
    }
    return measurements
  } finally {
    for (const { clients, workerd } of stages) {
      clients.close()
      workerd.stop()
    }
  }
}

async function play(scenario: Scenario, stages: readonly Stage[], rounds: number): Promise<Measurement[]> {
  for (const stage of stages) {
    await stage.clients.open(scenario.clients)
    await run(stage, scenario, warmUp)
  }
  const measured = stages.map(({ name, dialect }) => ({
    scenario: scenario.name,
    server: `${name} ${dialect.revision}`,
    cpu: [] as number[],
  }))
  for (let round = 0; round < rounds; round += 1) {
    // CPU time of a server during the turns of others is its own, so a round is measured from its start to its end.
    const before = stages.map(({ workerd }) => workerd.cpu())
    for (let done = 0; done < scenario.operations; done += turn) {
      for (const stage of stages) await run(stage, scenario, turn)
    }
    for (const [index, { workerd }] of stages.entries()) {
      const used = workerd.cpu() - (before[index] as number)
      measured[index]?.cpu.push((used * 1000) / scenario.operations)
    }
  }
  return measured
}

async function run({ name, dialect, clients }: Stage, scenario: Scenario, operations: number): Promise<void> {
  try {
    await clients.run(scenario, operations)
  } catch (cause) {
    throw new Error(`${scenario.name}: ${name} ${dialect.revision} gave a wrong answer`, { cause })
  }
}
