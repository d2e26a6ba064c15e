"""Tables as users have them: checked, and in the container that the model was fitted on."""
