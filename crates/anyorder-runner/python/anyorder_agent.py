# Replaced by the agent.
