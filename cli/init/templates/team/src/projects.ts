import { env } from 'cloudflare:workers'

export type Project = { id: string; title: string; owner: string }

/** The projects of one team. Every query names the team, so a caller can never reach the rows of another team. */
export class Projects {
  readonly #team: string

  constructor(team: string) {
    this.#team = team
  }

  async list(): Promise<Project[]> {
    const query = 'SELECT id, title, owner FROM projects WHERE team = ? ORDER BY id LIMIT 1000'
    return (await env.DB.prepare(query).bind(this.#team).all<Project>()).results
  }

  async read(id: string): Promise<Project | undefined> {
    const query = 'SELECT id, title, owner FROM projects WHERE team = ? AND id = ?'
    return (await env.DB.prepare(query).bind(this.#team, id).first<Project>()) ?? undefined
  }

  /** Returns false if the team has a project with this id. */
  async create({ id, title, owner }: Project): Promise<boolean> {
    const query = 'INSERT OR IGNORE INTO projects (team, id, title, owner) VALUES (?, ?, ?, ?)'
    return (await env.DB.prepare(query).bind(this.#team, id, title, owner).run()).meta.changes > 0
  }

  async delete(id: string): Promise<void> {
    await env.DB.prepare('DELETE FROM projects WHERE team = ? AND id = ?').bind(this.#team, id).run()
  }
}
