/** edgemcp/skills: Serve skills: instructions that clients load for their models on demand. */
export type { Skill, SkillFile } from './skill.ts'
export { type SkillsOptions, skills } from './skills.ts'
