import { skills as skillsOf } from 'edgemcp/skills'
import commands from './skills/git-help/references/commands.md'
import manual from './skills/git-help/SKILL.md'

export const skills = skillsOf({ 'git-help/SKILL.md': manual, 'git-help/references/commands.md': commands })
